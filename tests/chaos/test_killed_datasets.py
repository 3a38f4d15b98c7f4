"""A dataset build that is killed again and again gives the same dataset as one that is not."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.chaos.level import by_level, make_random
from tests.cli.command import Corral
from tests.datasets.copies import KnownImages, make_images
from tests.datasets.site import ImageSite, serve_images
from tests.slack import SLACK
from tests.waiting import block_until

COUNT = by_level(160, 10_000)
KILLS = by_level(2, 10)
EXIT_PARTIAL = 3


def write_config(corral: Corral, site: ImageSite, known: KnownImages, name: str) -> str:
    (corral.folder / "urls.txt").write_text("".join(f"{site.url}{path}\n" for path in known.bodies))
    document = {
        "dataset_name": "cats",
        "categories": {"cats": ["cat"]},
        # The first address makes the host of all of them one that a person typed.
        "sources": [{"type": "urls", "urls": [f"{site.url}/images/cat-0.jpg"], "file": "urls.txt"}],
        "options": {"output_dir": name, "image_size": 64, "export": ["webdataset"]},
    }
    path = corral.folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path.name


def read_lineage(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "lineage.jsonl").read_text().splitlines()]


def test_a_killed_build_gives_the_dataset_of_one_that_was_not_killed(tmp_path: Path) -> None:
    dice = make_random()
    known = make_images(COUNT, dice)
    with serve_images(known.answer) as site:
        corral = Corral(tmp_path)
        config = write_config(corral, site, known, "killed")
        for _ in range(KILLS):
            _kill_after(corral, site, config, dice.randrange(1, max(2, COUNT // KILLS)))
        done = _finish(corral, config)
        assert done["images"] == len(set(known.groups.values())) - len(known.broken)
        requested = sum(count for path, count in site.requests.items() if path in known.bodies)
        # What was under way at a kill is requested again; what was stored is not.
        assert requested <= COUNT + len(known.flaky) + KILLS * 1200

        lineage = read_lineage(tmp_path / "killed")
        assert known.score(lineage, "exact") == 1.0
        assert known.score(lineage, "near") >= 0.95
        assert sum(entry["state"] == "quarantined" for entry in lineage) == len(known.broken)

        site.requests.clear()
        whole = _finish(corral, write_config(corral, site, known, "whole"))
        assert whole["manifest_sha256"] == done["manifest_sha256"]
        assert (tmp_path / "killed/shards/00000.tar").read_bytes() == (tmp_path / "whole/shards/00000.tar").read_bytes()


def _kill_after(corral: Corral, site: ImageSite, config: str, more: int) -> None:
    before = sum(site.requests.values())
    process = corral.start_fork("dataset", "build", config, APP_HOST_CONCURRENCY="32")
    try:
        block_until(lambda: sum(site.requests.values()) >= before + more or process.poll() is not None, within_s=60)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def _finish(corral: Corral, config: str) -> dict[str, Any]:
    process = corral.start_fork("dataset", "build", config, "--json", APP_HOST_CONCURRENCY="32")
    try:
        out, err = process.communicate(timeout=by_level(120, 1200) * SLACK)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == EXIT_PARTIAL, err
    found: dict[str, Any] = json.loads(out)["dataset"]
    return found
