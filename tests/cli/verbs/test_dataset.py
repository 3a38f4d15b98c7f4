"""`corral dataset build` as a person uses it."""

import json
import signal
import subprocess
from collections.abc import Callable

from tests.cli.command import Corral
from tests.datasets.site import Reply, serve_images
from tests.images.builders import encode, picture
from tests.slack import SLACK
from tests.waiting import block_until

CONFIG = """
dataset_name: paddock
categories:
  horses: [horse]
  goats: [goat]
  hens: [hen]
sources:
  - type: crawl
    urls: [{site}/gallery]
    depth: 1
options:
  output_dir: paddock
  image_size: 64
"""


def test_the_gallery_of_the_demo_site_becomes_a_dataset(corral: Corral, site: str) -> None:
    (corral.folder / "paddock.yaml").write_text(CONFIG.format(site=site))
    planned = corral("dataset", "build", "paddock.yaml", "--dry-run", "--json")
    assert (planned.code, planned.json["steps"][0], planned.json["dataset"]) == (0, "discover", "paddock")
    assert not (corral.folder / "paddock").exists()
    done = corral("dataset", "build", "paddock.yaml")
    assert done.code == 3, done.err
    assert done.out.startswith(f"30 images in {corral.folder}/paddock; manifest ")
    assert "3 duplicate, 30 kept, 3 quarantined" in done.out
    assert "8/8 clean up" in done.err
    again = corral("dataset", "build", "paddock.yaml", "--json")
    assert again.json["dataset"]["manifest_sha256"] in done.out
    assert again.json["workflow"]["name"] == "dataset-build"
    assert again.json["dataset"]["left_out"] == {"quarantined:truncated": 3}
    counted = corral("workflow", "list", "--json").json
    assert len(counted) == 2


def test_a_bad_configuration_is_refused_with_every_problem(corral: Corral) -> None:
    (corral.folder / "bad.yaml").write_text("dataset_name: x\noptions: {quality: 0}\n")
    bad = corral("dataset", "build", "bad.yaml")
    assert bad.code == 78
    for said in ("bad.yaml: categories is missing", "bad.yaml: sources is missing", "options.quality has to be"):
        assert said in bad.err
    assert "fix: correct it in bad.yaml" in bad.err
    assert ".env" not in bad.err
    assert corral("dataset", "build", "nothing.yaml").code == 78
    (corral.folder / "bad.yaml").write_text("a: [")
    assert "bad.yaml: line 1" in corral("dataset", "build", "bad.yaml").err
    assert not corral.data.exists()


def test_interrupted_it_is_paused_and_the_same_command_continues(
    corral: Corral, started_forks: Callable[..., "subprocess.Popen[str]"]
) -> None:
    bodies = {f"/cat-{number}.jpg": encode(picture(number)) for number in range(60)}

    def answer(path: str, _: int) -> Reply | None:
        return Reply(bodies[path]) if path in bodies else None

    with serve_images(answer) as images:
        document = {
            "dataset_name": "cats",
            "categories": {"cats": []},
            "sources": [{"type": "urls", "urls": [f"{images.url}{path}" for path in bodies]}],
            "options": {"output_dir": "cats", "concurrency": 1, "validation": "fast", "deduplicate": "off"},
        }
        (corral.folder / "cats.json").write_text(json.dumps(document))
        slow = {"APP_HOST_DELAY_SECONDS": "0.05", "APP_HOST_MAX_DELAY_SECONDS": "0.05"}
        process = started_forks(corral, "dataset", "build", "cats.json", **slow)
        block_until(lambda: sum(images.requests.values()) > 10, within_s=60)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60 * SLACK)
        assert process.returncode == 130, err
        assert "the same command continues it" in err
        before = sum(images.requests.values())
        assert before < 60
        done = corral("dataset", "build", "cats.json", "--json")
        assert done.code == 0, done.err
        assert "continuing workflow" in done.err
        assert done.json["dataset"]["states"] == {"kept": 60}
        assert len(corral("workflow", "list", "--json").json) == 1
