"""The layout of YOLO classification: a folder for training and one for validation, with a folder for each class."""

import hashlib
from pathlib import Path

from corral.datasets.exports.folders import FolderWriter
from corral.datasets.exports.yolo import YoloWriter


def write(output: Path, *names: str) -> dict[str, str]:
    """Export images named CATEGORY/NAME; return what each is for."""
    entries = []
    for name in names:
        category, _, rest = name.partition("/")
        key = hashlib.sha256(rest.encode()).hexdigest()[:24]
        entries.append({"key": key, "category": category, "file": f"{category}/{key}.jpg", "name": name})
    folders, writer = FolderWriter(output), YoloWriter(output)
    for entry in sorted(entries, key=lambda entry: entry["key"]):
        folders.add(entry, entry["name"].encode())
        writer.add(entry, entry["name"].encode())
    folders.end()
    assert writer.end() == ["yolo/train/", "yolo/val/"]
    name_of = {entry["file"]: entry["name"] for entry in entries}
    found = [path.relative_to(output / "yolo").parts for path in output.glob("yolo/*/*/*")]
    uses = {name_of[f"{category}/{file}"]: use for use, category, file in found}
    assert len(found) == len(uses) == len(names), "every image once"
    return uses


def test_a_tenth_is_for_validation_and_stays_there_when_images_come(tmp_path: Path) -> None:
    names = [f"cats/{number}" for number in range(300)]
    first = write(tmp_path, *names[:200])
    assert 8 <= sum(use == "val" for use in first.values()) <= 35
    second = write(tmp_path, *names)
    assert {name: second[name] for name in first} == first


def test_a_category_of_two_has_one_for_each_use_and_one_of_one_is_for_training(tmp_path: Path) -> None:
    uses = write(tmp_path, "cats/a", "cats/b", "dogs/d")
    assert sorted([uses["cats/a"], uses["cats/b"]]) == ["train", "val"]
    assert uses["dogs/d"] == "train"


def test_images_are_links_to_the_folder_export_and_go_with_it(tmp_path: Path) -> None:
    write(tmp_path, "cats/a", "cats/b", "cats/c")
    for path in tmp_path.glob("yolo/*/*/*"):
        assert path.samefile(tmp_path / "images" / path.parent.name / path.name)
    write(tmp_path, "cats/a")
    assert len(list(tmp_path.glob("yolo/*/*/*"))) == 1
