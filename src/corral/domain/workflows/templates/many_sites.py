"""Crawl several sites at once, then write all records to one file."""

from collections.abc import Mapping
from typing import Any

from corral.domain.workflows.spec import MAX_STEPS, InvalidWorkflow
from corral.domain.workflows.templates.spec import Parameter, WorkflowTemplate


def _build(parameters: Mapping[str, Any]) -> dict[str, Any]:
    is_texts = all(isinstance(site, str) for site in parameters["sites"])
    sites = list(dict.fromkeys(parameters["sites"])) if is_texts else []
    if not is_texts or len(sites) > MAX_STEPS - 1:
        raise InvalidWorkflow([f"sites is a list of at most {MAX_STEPS - 1} addresses"])
    keys = [f"site_{number}" for number in range(1, len(sites) + 1)]
    options = {"max_depth": parameters["max_depth"], "max_pages": parameters["max_pages"]}
    crawls = [
        {"key": key, "name": f"Crawl {site}", "kind": "crawl", "config": {"url": site, **options}}
        for key, site in zip(keys, sites, strict=True)
    ]
    export = {
        "key": "export",
        "name": "Write the records",
        "kind": "export",
        "depends_on": keys,
        "config": {"run_ids": [f"${{steps.{key}.output.run_id}}" for key in keys], "output": parameters["output"]},
    }
    return {"name": "many-sites", "steps": [*crawls, export]}


MANY_SITES = WorkflowTemplate(
    "many-sites",
    "crawl several sites at once, then write all records to one file",
    (
        Parameter("sites", "list", "the addresses of the first pages", is_required=True),
        Parameter("output", "text", "the file, below the folder of exports", "sites.jsonl"),
        Parameter("max_depth", "number", "how many links from each first page", 2),
        Parameter("max_pages", "number", "how many pages of each site at most", 1000),
    ),
    _build,
)
