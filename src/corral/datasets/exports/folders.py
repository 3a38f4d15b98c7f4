"""Exports to folders: one per category, the same as links, and with a metadata file as Hugging Face reads it."""

import contextlib
import json
import os
import re
from pathlib import Path

from corral.datasets.exports.writer import DraftFile, Entry

_IMAGE = re.compile(r"[0-9a-f]{24}\.[a-z]{3,4}")


class FolderWriter:
    """`images/CATEGORY/KEY.jpg`. Names follow from addresses, so an image that has not changed is not written again."""

    def __init__(self, output: Path, folder: str = "images") -> None:
        self._output = output
        self._root = output / folder
        self._folder = folder
        self._written: dict[str, set[str]] = {}

    def add(self, entry: Entry, body: bytes) -> None:
        category, _, name = entry["file"].partition("/")
        folder = self._root / category
        if category not in self._written:
            self._written[category] = set()
            folder.mkdir(parents=True, exist_ok=True)
        self._written[category].add(name)
        path = folder / name
        if not _is_same(path, body):
            draft = folder / f".{name}.part"
            draft.write_bytes(body)
            draft.replace(path)

    def end(self) -> list[str]:
        """Remove images of an earlier build that are no longer part of the dataset; other files are left alone."""
        with contextlib.suppress(FileNotFoundError):
            for folder in os.scandir(self._root):
                if folder.is_dir():
                    self._remove_old(Path(folder.path), self._written.get(folder.name, set()))
        return [f"{self._folder}/"]

    def abandon(self) -> None:
        pass  # whole files stay: the next export uses them

    @staticmethod
    def _remove_old(folder: Path, current: set[str]) -> None:
        for entry in os.scandir(folder):
            if _IMAGE.fullmatch(entry.name) and entry.name not in current:
                (folder / entry.name).unlink()
        with contextlib.suppress(OSError):
            folder.rmdir()  # only if it is empty


class LinkedFolderWriter(FolderWriter):
    """Links the images of a folder export instead of copying them."""

    def __init__(self, output: Path, folder: str) -> None:
        super().__init__(output, folder)
        self._source, self._target = output / "images", output / folder

    def add(self, entry: Entry, body: bytes) -> None:
        source, target = self._source / entry["file"], self._target / entry["file"]
        if _is_same(source, body) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                os.link(source, target)
        super().add(entry, body)


class ImageFolderWriter:
    """`huggingface/train/CATEGORY/KEY.jpg` and `metadata.jsonl`."""

    def __init__(self, output: Path) -> None:
        self._folders = LinkedFolderWriter(output, "huggingface/train")
        self._metadata = DraftFile(output / "huggingface" / "train" / "metadata.jsonl")

    def add(self, entry: Entry, body: bytes) -> None:
        self._folders.add(entry, body)
        row = {"file_name": entry["file"], "label": entry["category"], "text": entry["caption"], "url": entry["url"]}
        self._metadata.file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def end(self) -> list[str]:
        self._metadata.end()
        return self._folders.end()

    def abandon(self) -> None:
        self._metadata.abandon()


def _is_same(path: Path, body: bytes) -> bool:
    try:
        return path.stat().st_size == len(body) and path.read_bytes() == body
    except OSError:
        return False
