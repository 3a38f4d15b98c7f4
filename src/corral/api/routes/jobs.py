"""Jobs: create, read, change, delete, clone."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Key, Limit, replay_header
from corral.api.own_code import refuse_own_code
from corral.api.routing import make_router
from corral.api.schemas.common import Deleted, JobChange, JobCreate, JobRead
from corral.api.schemas.fields import OwnCode, field_specs
from corral.domain.cost.budget import Budget
from corral.domain.errors import BadInput
from corral.domain.fields.own_code import without_parser
from corral.domain.fields.record_key import parse_record_key
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import CrawlMode, Job, OnTrouble, Priority, Strategy
from corral.runtime.new_ids import new_id

router = make_router("jobs")


@router.post("/jobs", response_model=JobRead)
async def create_job(body: JobCreate, corral: Corral, key: Key) -> Response:
    _refuse_own_code(body, corral)
    defaults = await corral.store.jobs.defaults()
    supplied = {name for name in body.model_fields_set if getattr(body, name) is not None}
    job = defaults.over(_job_of(body, corral), supplied)
    stored, replayed = await corral.jobs.create(job, key, probes=body.checks_target)
    return render.answer(render.job(stored), headers=replay_header(replayed))


def _job_of(body: JobCreate, corral: Corral) -> Job:
    return Job(
        id=JobId(new_id()),
        target_url=body.target_url,
        fields=(*field_specs(body.fields), *_parser_of(body.parse)),
        created_at=datetime.now(UTC),
        requires_auth=body.requires_auth,
        frequency=body.frequency,
        strategy=Strategy(body.strategy),
        crawl_mode=CrawlMode(body.crawl_mode),
        list_config=None if body.list_config is None else body.list_config.document(),
        priority=Priority[body.priority.upper()],
        max_attempts=body.max_attempts or corral.settings.default_max_attempts,
        timeout_s=body.timeout_s,
        respect_robots=body.respect_robots,
        verify_tls=body.verify_tls,
        proxy=corral.jobs.proxy_policy(_reveal(body.proxy_policy)),
        on_captcha=OnTrouble(body.on_captcha),
        on_missing=OnTrouble(body.on_missing),
        record_key=parse_record_key(body.record_key),
        quality=body.quality.thresholds(),
        budget=Budget.of(body.budget),
    )


def _refuse_own_code(body: JobCreate | JobChange, corral: Corral) -> None:
    pages = None if body.list_config is None else body.list_config.page_fields
    refuse_own_code(corral.settings, body.parse, pages, "list_config.")


def _parser_of(parse: OwnCode | None) -> tuple[FieldSpec, ...]:
    return () if parse is None else (parse.spec(),)


def _reveal(text: SecretStr | None) -> str | None:
    return None if text is None else text.get_secret_value()


@router.get("/jobs", response_model=list[JobRead])
async def list_jobs(corral: Corral, limit: Limit = 50, cursor: Cursor = None) -> Response:
    found = await corral.store.jobs.newest(render.cursor_id(cursor), limit)
    return render.page([render.job(each) for each in found], found[-1].job.id if found else None, limit)


@router.get("/jobs/{job_id}", response_model=JobRead)
async def read_job(job_id: Id, corral: Corral) -> Response:
    return render.answer(render.job(await corral.store.jobs.get(str(job_id))))


@router.patch("/jobs/{job_id}", response_model=JobRead)
async def change_job(job_id: Id, body: JobChange, corral: Corral) -> Response:
    _refuse_own_code(body, corral)
    probes, changes = body.checks_target is not False, _changes(body, corral)
    changes_code = "parse" in changes
    parser = _parser_of(changes.pop("parse", None))

    def changes_of(job: Job) -> dict[str, Any]:
        """Return the changes of a job. Replacing its fields keeps its own code, and the other way round."""
        if "fields" not in changes and not changes_code:
            return changes
        own = parser if changes_code else tuple(spec for spec in job.fields if spec.is_code)
        return {**changes, "fields": (*without_parser(changes.get("fields", job.fields)), *own)}

    return render.answer(render.job(await corral.jobs.change_by(str(job_id), changes_of, probes=probes)))


# Conversions from values of the request to values of a job.
_PARSED: dict[str, Callable[[Any], Any]] = {
    "fields": field_specs,
    "crawl_mode": CrawlMode,
    "list_config": lambda config: config.document(),
    "strategy": Strategy,
    "priority": lambda name: Priority[name.upper()],
    "on_captcha": OnTrouble,
    "on_missing": OnTrouble,
    "quality": lambda quality: quality.thresholds(),
    "budget": Budget.of,
}
# May be null: the key is then the URL of the page.
_KEY = "record_key"
# Only these may be null, which restores the default.
_NULLABLE = frozenset({"timeout_s", "max_attempts", "proxy_policy", "list_config", "parse", _KEY})


def _changes(body: JobChange, corral: Corral) -> dict[str, Any]:
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    for name, value in changes.items():
        if value is None and name not in _NULLABLE:
            raise BadInput(f"{name} cannot be null", field=name, hint="omit it to keep its value")
    changes.pop("checks_target", None)
    if changes.get("max_attempts", 0) is None:
        changes["max_attempts"] = corral.settings.default_max_attempts
    if "proxy_policy" in changes:
        changes["proxy"] = corral.jobs.proxy_policy(_reveal(changes.pop("proxy_policy")))
    if _KEY in changes:
        changes[_KEY] = parse_record_key(changes[_KEY])
    parse = {name: _PARSED[name] for name, value in changes.items() if name in _PARSED and value is not None}
    return {**changes, **{name: parse[name](changes[name]) for name in parse}}


@router.delete("/jobs/{job_id}", response_model=Deleted)
async def delete_job(job_id: Id, corral: Corral) -> Response:
    await corral.store.jobs.delete(str(job_id))
    return render.answer({"message": f"job {job_id} is deleted; its runs and records stay"})


@router.post("/jobs/{job_id}/clone", response_model=JobRead)
async def clone_job(job_id: Id, corral: Corral, key: Key) -> Response:
    stored, replayed = await corral.jobs.clone(str(job_id), key)
    return render.answer(render.job(stored), headers=replay_header(replayed))
