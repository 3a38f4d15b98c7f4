"""Crawl a site, then write its records to a file."""

from collections.abc import Mapping
from typing import Any

from corral.domain.workflows.templates.spec import Parameter, WorkflowTemplate


def _build(parameters: Mapping[str, Any]) -> dict[str, Any]:
    crawl = {"url": parameters["url"], "max_depth": parameters["max_depth"], "max_pages": parameters["max_pages"]}
    if parameters["fields"]:
        crawl |= {"fields": parameters["fields"], "only_fields": True}
    return {
        "name": "crawl-then-export",
        "steps": [
            {"key": "crawl", "name": "Crawl the site", "kind": "crawl", "config": crawl},
            {
                "key": "export",
                "name": "Write the records",
                "kind": "export",
                "depends_on": ["crawl"],
                "config": {"run_id": "${steps.crawl.output.run_id}", "output": parameters["output"]},
            },
        ],
    }


CRAWL_THEN_EXPORT = WorkflowTemplate(
    "crawl-then-export",
    "crawl a site, then write its records to a file",
    (
        Parameter("url", "text", "the address of the first page", is_required=True),
        Parameter("output", "text", "the file, below the folder of exports", "crawl.jsonl"),
        Parameter("max_depth", "number", "how many links from the first page", 2),
        Parameter("max_pages", "number", "how many pages at most", 1000),
        Parameter("fields", "list", "the fields of a record; without them its text"),
    ),
    _build,
)
