"""Jobs as the API and the command line show them."""

from typing import Any

from corral.domain.crawl.job_pages import DEFAULT_ITEMS, DEFAULT_LIST_PAGES
from corral.domain.fields.own_code import describe_parser, without_parser
from corral.domain.fields.page_fields import PageFields
from corral.domain.fields.record_key import describe_record_key
from corral.domain.fields.spec import describe_field
from corral.domain.jobs.job import CrawlMode, Job


def list_config_read(job: Job) -> dict[str, Any] | None:
    """Return the configuration with the defaults of omitted fields."""
    config = job.list_config
    if config is not None and config.get("page_fields") is not None:
        config = {**config, "page_fields": [_page_fields_read(each) for each in config["page_fields"]]}
    if job.crawl_mode is not CrawlMode.LIST:
        return config
    return {"pagination": None, "max_pages": DEFAULT_LIST_PAGES, "max_items": DEFAULT_ITEMS, **(config or {})}


def _page_fields_read(document: dict[str, Any]) -> dict[str, Any]:
    specs = PageFields.of(document).fields
    code = describe_parser(specs)
    return {
        "match": document["match"],
        "fields": [describe_field(spec) for spec in without_parser(specs)],
        **({} if code is None else {"parse": code}),
    }


def job_read(job: Job, status: str) -> dict[str, Any]:
    return {
        "id": job.id,
        "target_url": job.target_url,
        "fields": [describe_field(spec) for spec in without_parser(job.fields)],
        "parse": describe_parser(job.fields),
        "requires_auth": job.requires_auth,
        "frequency": job.frequency,
        "strategy": job.strategy.value,
        "crawl_mode": job.crawl_mode.value,
        "list_config": list_config_read(job),
        "priority": job.priority.label,
        "max_attempts": job.max_attempts,
        "timeout_s": job.timeout_s,
        "respect_robots": job.respect_robots,
        "verify_tls": job.verify_tls,
        "proxy_policy": job.proxy.redacted if job.proxy else None,
        "on_captcha": job.on_captcha.value,
        "on_missing": job.on_missing.value,
        "record_key": describe_record_key(job.record_key),
        "quality": job.quality.document(),
        "budget": job.budget.document(),
        "status": status,
        "created_at": job.created_at,
    }
