"""A dataset build continues after its database was migrated to PostgreSQL."""

from pathlib import Path

import pytest

from corral.store.to_postgres.migrate import move
from tests.datasets.builder import open_builder
from tests.datasets.builds import config, manifest, run, urls
from tests.datasets.site import Reply, serve_images
from tests.images.builders import encode, picture
from tests.services import PostgresCluster


@pytest.mark.usefixtures("forked_workers")
async def test_a_build_continues_after_its_move_to_postgresql(tmp_path: Path, postgres: PostgresCluster) -> None:
    replies = {f"/cat-{number}.jpg": Reply(encode(picture(number))) for number in range(6)}
    replies |= {"/cat-copy.jpg": Reply(encode(picture(2).resize((120, 90)))), "/cat-broken.jpg": Reply(b"no")}
    paths, target = list(replies), postgres.create_migrated()
    with serve_images(replies) as site:
        async with open_builder(tmp_path) as builder:
            first = await run(builder, config(site, urls(site, *paths[2:], "/cat-gone.jpg")))
        done = move(tmp_path / "corral.db", target, lambda *_: None)
        assert (done.rows["dataset_builds"], done.rows["dataset_images"], done.rows["dataset_pairs"]) == (1, 7, 1)
        async with open_builder(tmp_path, url=target) as builder:
            same = await run(builder, config(site, urls(site, *paths[2:], "/cat-gone.jpg")), run_id="second")
            assert (same["states"], same["left_out"]) == (first["states"], first["left_out"])
            exported = [each["steps"]["export"]["manifest_sha256"] for each in (first, same)]
            assert exported[0] == exported[1]
            more = await run(builder, config(site, urls(site, *paths)), run_id="third")
            assert more["states"]["kept"] == first["states"]["kept"] + 2
            assert len(manifest(builder)) == more["states"]["kept"]
    assert {site.requests[path] for path in paths} == {1}
    assert site.requests["/cat-gone.jpg"] == 3, "what failed is tried again by every build"
