"""The layout that YOLO classification reads: `yolo/train/CATEGORY/KEY.jpg` and `yolo/val/CATEGORY/KEY.jpg`."""

from pathlib import Path

from corral.datasets.exports.folders import LinkedFolderWriter
from corral.datasets.exports.writer import Entry

_VAL_EVERY = 10


class YoloWriter:
    """Selects a tenth of the images for validation by their keys, so that new images do not change the others.

    A small category without such a key uses its first image for validation.
    """

    def __init__(self, output: Path) -> None:
        self._train, self._val = (LinkedFolderWriter(output, f"yolo/{name}") for name in ("train", "val"))
        self._waiting: dict[str, tuple[Entry, bytes]] = {}  # the first training image of each category
        self._counts: dict[str, int] = {}
        self._validated: set[str] = set()

    def add(self, entry: Entry, body: bytes) -> None:
        category = entry["category"]
        self._counts[category] = self._counts.get(category, 0) + 1
        if int(entry["key"][:8], 16) % _VAL_EVERY == 0:
            self._val.add(entry, body)
            self._validated.add(category)
        elif category in self._waiting:
            self._train.add(entry, body)
        else:
            self._waiting[category] = (entry, body)

    def end(self) -> list[str]:
        for category, (entry, body) in self._waiting.items():
            is_needed = category not in self._validated and self._counts[category] > 1
            (self._val if is_needed else self._train).add(entry, body)
        return [*self._train.end(), *self._val.end()]

    def abandon(self) -> None:
        self._train.abandon()
        self._val.abandon()
