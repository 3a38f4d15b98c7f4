"""A node that keeps house forgets builds after their time, and leaves the dataset alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from corral.wiring.app import App
from corral.wiring.roles import open_node
from tests.datasets.site import Reply, serve_images
from tests.engine.builders import settings_for
from tests.images.builders import encode, picture

A_MOMENT = 1e-9


async def build(app: App, config: dict[str, Any]) -> None:
    spec = app.workflows.check(template="dataset-build", parameters={"config": config})
    now, _ = await app.workflows.create(spec)
    while not (now := await app.workflows.get(now.id)).is_over:
        await app.pulse.wait(0.02)
    assert now.run.state.value == "completed", now.run.stats


@pytest.mark.usefixtures("forked_workers")
async def test_rows_and_packs_of_a_build_go_after_their_time_and_the_dataset_stays(tmp_path: Path) -> None:
    replies = {f"/cat-{number}.jpg": Reply(encode(picture(number))) for number in range(4)}
    settings = settings_for(tmp_path / "var", None, egress_allow="127.0.0.1/32:*")
    manifest = tmp_path / "out/manifest.json"
    with serve_images(replies) as site:
        config = {
            "dataset_name": "cats",
            "categories": {"cats": []},
            "sources": [{"type": "urls", "urls": [f"{site.url}{path}" for path in replies]}],
            "options": {"output_dir": str(tmp_path / "out")},
        }
        async with open_node(settings) as app:
            await build(app, config)
        before = json.loads(manifest.read_text())
        packs = tmp_path / "var/datasets"
        for days, is_left in ((None, True), (1000.0, True), (A_MOMENT, False)):
            later = settings.model_copy(update={"dataset_retention_days": days})
            async with open_node(later) as app:
                assert app.sweeper is not None
                await app.sweeper._prune()
                await app.tidying.tidy()
                assert bool(await app.store.datasets.list_builds()) is is_left
                assert bool(list(packs.glob("*/packs/*.pack"))) is is_left
        assert json.loads(manifest.read_text()) == before
        async with open_node(settings) as app:
            await build(app, config)
        assert json.loads(manifest.read_text())["manifest_sha256"] == before["manifest_sha256"]
        assert {site.requests[path] for path in replies} == {2}
