"""Decisions about one image: download, validation, labels, manifest."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from corral.domain.datasets.download_decision import decide_download
from corral.domain.datasets.image import ImageFacts, ImageRow, ImageState, describe_state
from corral.domain.datasets.labels import label_files
from corral.domain.datasets.manifest import hash_manifest, image_path, lineage_entry, manifest_entry, manifest_line
from corral.domain.datasets.options import AnimationRule, DatasetOptions, LabelFormat, ValidationLevel
from corral.domain.datasets.validation import judge_image
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, WaitReason

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = ImageFacts(sha256="s", size=9, format="jpeg", width=160, height=120, is_decoded=True, contrast=40, sharpness=9)


def change(**more: Any) -> ImageFacts:
    return ImageFacts(**{name: getattr(GOOD, name) for name in GOOD.__struct_fields__} | more)


@pytest.mark.parametrize(
    "facts, fast, standard, strict",
    [
        (GOOD, "", "", ""),
        (change(size=0), "empty", "empty", "empty"),
        (change(format="", broken="html"), "html", "html", "html"),
        (change(broken="truncated"), "", "truncated", "truncated"),
        (change(width=20), "too_small", "too_small", "too_small"),
        (change(width=90_000, height=9_000), "too_many_pixels", "too_many_pixels", "too_many_pixels"),
        (change(is_animated=True), "animated", "animated", "animated"),
        (change(contrast=0.5), "", "", "one_colour"),
        (change(sharpness=0.1), "", "", "blurred"),
        (change(width=1600), "", "", "too_narrow"),
    ],
)
def test_each_level_finds_what_it_looks_for(facts: ImageFacts, fast: str, standard: str, strict: str) -> None:
    found = [
        judge_image(
            facts, DatasetOptions("o", validation=level, min_width=50, min_height=50, animated=AnimationRule.REFUSE)
        )
        for level in ValidationLevel
    ]
    assert found == [fast, standard, strict]


def test_an_animation_is_valid_unless_it_is_refused() -> None:
    assert judge_image(change(is_animated=True), DatasetOptions("o")) == ""


def status(code: int, retry_after: str | None = None) -> Failed:
    kind = FailureCode.RATE_LIMITED if code == 429 else FailureCode.BAD_RESPONSE
    return Failed(kind, "", f"http_{code}", code, retry_after)


@pytest.mark.parametrize(
    "attempt, outcome, expected",
    [
        (0, status(503), (ImageState.PENDING, "http_503", 1, 0.5)),
        (2, status(503), (ImageState.PENDING, "http_503", 3, 2.0)),
        (3, status(503), (ImageState.FAILED, "http_503", 4, 0.0)),
        (0, status(404), (ImageState.FAILED, "http_404", 1, 0.0)),
        (0, status(429, "7"), (ImageState.PENDING, "http_429", 1, 7.0)),
        (0, status(429, "3600"), (ImageState.FAILED, "http_429", 1, 0.0)),
        (0, Failed(FailureCode.NETWORK, "", "reset"), (ImageState.PENDING, "network:reset", 1, 0.5)),
        (0, Failed(FailureCode.POLICY, "", "robots"), (ImageState.REFUSED, "policy:robots", 1, 0.0)),
        (0, Failed(FailureCode.LIMIT, "", "body_too_large"), (ImageState.FAILED, "limit:body_too_large", 1, 0.0)),
        (2, Deferred("h", WaitReason.PACE, 4.0), (ImageState.PENDING, "waiting:pace", 2, 4.0)),
    ],
)
def test_what_follows_an_attempt(attempt: int, outcome: Failed | Deferred, expected: tuple[Any, ...]) -> None:
    assert tuple(decide_download(attempt, outcome, 3, NOW)) == expected


def row(key: str, category: str = "cats", **more: Any) -> ImageRow:
    facts = change(out_format="jpeg", out_width=64, out_height=48, out_sha256="o", out_size=5)
    plain = {"keyword": "k", "page_url": "https://example.com/p", "caption": 'a "cat", № 1', "source": "urls[0]"}
    state = {"state": "kept", "reason": "", "attempt": 1, "run_id": "r1", "pack": "p", "start": 0, "size": 5}
    index = {"recipe": "x", "is_indexed": True, "duplicate_of": "", "distance": 0, "facts": facts}
    return ImageRow(key, 0, f"https://example.com/{key}", category, **{**plain, **state, **index, **more})


ENTRIES = [manifest_entry(each) for each in (row("a"), row("b", "dogs", caption=""))]


def labels(form: LabelFormat) -> dict[str, str]:
    return label_files(form, "pets", ["cats", "dogs"], ENTRIES)


def test_txt_labels() -> None:
    assert labels(LabelFormat.TXT) == {"labels.txt": "cats/a.jpg 0\ndogs/b.jpg 1\n", "classes.txt": "cats\ndogs\n"}


def test_json_and_yaml_labels_say_the_same() -> None:
    document = json.loads(labels(LabelFormat.JSON)["labels.json"])
    assert yaml.safe_load(labels(LabelFormat.YAML)["labels.yaml"]) == document
    assert document["classes"] == ["cats", "dogs"]
    assert [image["label"] for image in document["images"]] == [0, 1]
    assert document["images"][0]["caption"] == 'a "cat", № 1'


def test_csv_labels() -> None:
    rows = list(csv.DictReader(io.StringIO(labels(LabelFormat.CSV)["labels.csv"])))
    assert [(each["file"], each["label"], each["caption"]) for each in rows] == [
        ("cats/a.jpg", "0", 'a "cat", № 1'),
        ("dogs/b.jpg", "1", ""),
    ]


def test_coco_labels() -> None:
    document = json.loads(labels(LabelFormat.COCO)["coco.json"])
    assert [each["name"] for each in document["categories"]] == ["cats", "dogs"]
    assert document["images"][1]["file_name"] == "dogs/b.jpg"
    assert document["annotations"][1] == {
        "id": 2,
        "image_id": 2,
        "category_id": 2,
        "bbox": [0, 0, 64, 48],
        "area": 64 * 48,
        "iscrowd": 0,
        "segmentation": [[0, 0, 64, 0, 64, 48, 0, 48]],
    }


def test_yolo_labels() -> None:
    files = labels(LabelFormat.YOLO)
    data = yaml.safe_load(files["yolo/data.yaml"])
    assert (data["nc"], data["names"]) == (2, {0: "cats", 1: "dogs"})
    assert (data["path"], data["train"], data["val"]) == ("../../yolo", "train", "val")
    assert files["yolo/classes.txt"] == "cats\ndogs\n"


def test_the_manifest_does_not_depend_on_runs_and_the_lineage_names_them() -> None:
    one, two = row("a"), row("a", run_id="r2", attempt=3)
    assert manifest_line(manifest_entry(one)) == manifest_line(manifest_entry(two))
    assert hash_manifest([manifest_line(ENTRIES[0])]) != hash_manifest([manifest_line(ENTRIES[1])])
    assert image_path(one) == "cats/a.jpg"
    entry = lineage_entry(row("a", state="duplicate", reason="near", duplicate_of="b", distance=2))
    assert (entry["run_id"], entry["page_url"], entry["duplicate_of"]) == ("r1", "https://example.com/p", "b")


def test_counts_by_state_and_reason() -> None:
    assert describe_state([("failed", "http_404", 2), ("failed", "http_500", 1), ("kept", "", 5)]) == {
        "states": {"failed": 3, "kept": 5},
        "reasons": {"failed:http_404": 2, "failed:http_500": 1},
    }
