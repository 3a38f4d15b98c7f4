"""The labels of a dataset in six formats, as files by name."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from corral.domain.datasets.options import LabelFormat

Entry = Mapping[str, Any]
_COLUMNS = ("file", "category", "label", "keyword", "caption", "width", "height", "url", "page_url")


def label_files(form: LabelFormat, name: str, categories: Sequence[str], entries: Sequence[Entry]) -> dict[str, str]:
    """Return the files of one format: path below the labels folder, and text."""
    numbers = {category: number for number, category in enumerate(categories)}
    match form:
        case LabelFormat.TXT:
            return {"labels.txt": _lines(f"{each['file']} {numbers[each['category']]}" for each in entries)} | {
                "classes.txt": _lines(categories)
            }
        case LabelFormat.JSON:
            return {"labels.json": _json(_document(name, categories, entries, numbers))}
        case LabelFormat.CSV:
            return {"labels.csv": _csv(entries, numbers)}
        case LabelFormat.YAML:
            return {"labels.yaml": _yaml(_document(name, categories, entries, numbers))}
        case LabelFormat.COCO:
            return {"coco.json": _json(_coco(name, categories, entries, numbers))}
        case LabelFormat.YOLO:
            return _yolo(categories, numbers)


def _label_row(entry: Entry, numbers: Mapping[str, int]) -> dict[str, Any]:
    return {name: numbers[entry["category"]] if name == "label" else entry[name] for name in _COLUMNS}


def _document(
    name: str, categories: Sequence[str], entries: Sequence[Entry], numbers: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "dataset": name,
        "classes": list(categories),
        "images": [_label_row(entry, numbers) for entry in entries],
    }


def _coco(name: str, categories: Sequence[str], entries: Sequence[Entry], numbers: Mapping[str, int]) -> dict[str, Any]:
    """Return the labels in the COCO format, which numbers from 1. Each annotation covers the whole image."""
    images, annotations = [], []
    for number, entry in enumerate(entries, 1):
        width, height = entry["width"], entry["height"]
        images.append(
            {
                "id": number,
                "file_name": entry["file"],
                "width": width,
                "height": height,
                "coco_url": entry["url"],
            }
        )
        annotations.append(
            {
                "id": number,
                "image_id": number,
                "category_id": numbers[entry["category"]] + 1,
                "bbox": [0, 0, width, height],
                "area": width * height,
                "iscrowd": 0,
                "segmentation": [[0, 0, width, 0, width, height, 0, height]],
            }
        )
    return {
        "info": {"description": name},
        "licenses": [],
        "images": images,
        "annotations": annotations,
        "categories": [{"id": numbers[each] + 1, "name": each, "supercategory": ""} for each in categories],
    }


def _yolo(categories: Sequence[str], numbers: Mapping[str, int]) -> dict[str, str]:
    """Return the class files. YOLO classification reads the class of an image from its folder: see exports/yolo.py."""
    names = "".join(f"  {number}: {_quote(category)}\n" for category, number in numbers.items())
    return {
        "yolo/data.yaml": f"path: ../../yolo\ntrain: train\nval: val\nnc: {len(categories)}\nnames:\n{names}",
        "yolo/classes.txt": _lines(categories),
    }


def _csv(entries: Iterable[Entry], numbers: Mapping[str, int]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_label_row(entry, numbers) for entry in entries)
    return text.getvalue()


def _yaml(document: Mapping[str, Any]) -> str:
    """Write YAML. JSON texts and numbers are valid YAML, so only the structure is written differently."""
    lines = [f"dataset: {_quote(document['dataset'])}", "classes:"]
    lines += [f"  - {_quote(each)}" for each in document["classes"]]
    lines.append("images:" if document["images"] else "images: []")
    for row in document["images"]:
        lead = "  - "
        for name, value in row.items():
            lines.append(f"{lead}{name}: {_quote(value)}")
            lead = "    "
    return _lines(lines)


def _quote(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def _json(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
