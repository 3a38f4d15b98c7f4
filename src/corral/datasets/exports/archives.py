"""Exports to archives: zip, and tar shards as WebDataset reads them. Equal datasets give equal files."""

import json
import tarfile
import zipfile
from pathlib import Path

from corral.datasets.exports.writer import DraftFile, Entry

_EPOCH = (1980, 1, 1, 0, 0, 0)


class ZipWriter:
    def __init__(self, output: Path, name: str) -> None:
        self._name = f"{name}.zip"
        self._draft = DraftFile(output / self._name)
        # Images are already compressed.
        self._zip = zipfile.ZipFile(self._draft.file, "w", zipfile.ZIP_STORED)
        self._lines: list[str] = []

    def add(self, entry: Entry, body: bytes) -> None:
        self._zip.writestr(zipfile.ZipInfo(entry["file"], _EPOCH), body)
        self._lines.append(json.dumps(entry, ensure_ascii=False, sort_keys=True))

    def end(self) -> list[str]:
        text = "".join(f"{line}\n" for line in self._lines).encode("utf-8", "replace")
        self._zip.writestr(zipfile.ZipInfo("manifest.jsonl", _EPOCH), text)
        self._zip.close()
        self._draft.end()
        return [self._name]

    def abandon(self) -> None:
        self._zip.fp = None  # skip the central directory: the file is removed
        self._draft.abandon()


class ShardWriter:
    """`shards/00000.tar`: for each image its bytes, its class number, its caption and its entry."""

    def __init__(self, output: Path, categories: list[str], shard_size: int) -> None:
        self._folder = output / "shards"
        self._numbers = {category: number for number, category in enumerate(categories)}
        self._shard_size = shard_size
        self._count = 0
        self._names: list[str] = []
        self._draft: DraftFile | None = None

    def add(self, entry: Entry, body: bytes) -> None:
        if self._count % self._shard_size == 0:
            self._close_shard()
            name = f"{self._count // self._shard_size:05d}.tar"
            self._draft = DraftFile(self._folder / name)
            self._names.append(name)
        self._count += 1
        assert self._draft is not None
        _, _, suffix = entry["file"].rpartition(".")
        key = entry["key"]
        parts = [_tar_member(f"{key}.{suffix}", body)]
        parts.append(_tar_member(f"{key}.cls", str(self._numbers[entry["category"]]).encode()))
        parts.append(_tar_member(f"{key}.txt", (entry["caption"] or entry["category"]).encode("utf-8", "replace")))
        document = json.dumps(entry, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
        parts.append(_tar_member(f"{key}.json", document))
        self._draft.file.write(b"".join(parts))

    def end(self) -> list[str]:
        self._close_shard()
        if self._folder.is_dir():
            for old in self._folder.glob("[0-9][0-9][0-9][0-9][0-9].tar"):
                if old.name not in self._names:
                    old.unlink()
        return [f"shards/{name}" for name in self._names]

    def abandon(self) -> None:
        if self._draft is not None:
            self._draft.abandon()

    def _close_shard(self) -> None:
        if self._draft is not None:
            self._draft.file.write(bytes(2 * tarfile.BLOCKSIZE))
            self._draft.end()
            self._draft = None


def _tar_member(name: str, body: bytes) -> bytes:
    header = tarfile.TarInfo(name)
    header.size = len(body)
    header.mode = 0o644
    padding = -len(body) % tarfile.BLOCKSIZE
    return header.tobuf(tarfile.USTAR_FORMAT) + body + bytes(padding)
