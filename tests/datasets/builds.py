"""Configurations of small builds, and what a build made."""

import json
from typing import Any

from corral.domain.runs.outcome import Fetched
from tests.datasets.builder import Builder
from tests.datasets.site import ImageSite


def config(site: ImageSite | None, *sources: dict[str, Any], **options: Any) -> dict[str, Any]:
    return {
        "dataset_name": "pets",
        "categories": {"cats": ["cat"], "dogs": ["dog"]},
        "sources": list(sources),
        "options": {"output_dir": "out", **options},
    }


def urls(site: ImageSite, *paths: str, **more: Any) -> dict[str, Any]:
    return {"type": "urls", "urls": [f"{site.url}{path}" for path in paths], **more}


async def run(builder: Builder, document: dict[str, Any], **more: Any) -> dict[str, Any]:
    outcome = await builder.build(document, **more)
    assert isinstance(outcome, Fetched), outcome
    return {**outcome.stats, "is_partial": bool(outcome.problems)}


def manifest(builder: Builder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (builder.folder / "out/manifest.jsonl").read_text().splitlines()]
