"""The recorded pages: HTML files that begin with a comment of JSON, which holds the address and the expected values."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "pages"
GROUPS = ("tuning", "held_out")
_START, _END = "<!--eval\n", "\n-->\n"


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """`expected` has a text, or a list for a name with several values; `absent` names have no value on the page."""

    name: str
    group: str
    kind: str
    url: str
    html: str
    expected: dict[str, Any]
    absent: tuple[str, ...]


def load_pages(groups: tuple[str, ...] = GROUPS) -> Iterator[RecordedPage]:
    for group in groups:
        for path in sorted((FOLDER / group).glob("*.html")):
            yield _load(path, group)


def _load(path: Path, group: str) -> RecordedPage:
    text = path.read_text(encoding="utf-8")
    if not text.startswith(_START):
        raise ValueError(f"{path} does not begin with {_START.strip()}")
    head, _, html = text[len(_START) :].partition(_END)
    meta = json.loads(head)
    return RecordedPage(path.stem, group, meta["kind"], meta["url"], html, meta["expected"], tuple(meta["absent"]))
