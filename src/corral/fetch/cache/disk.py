"""Store cached answers, one file each.

Each file is written under another name and then renamed, so that readers only see complete files. Several processes
share the folder. A damaged file counts as missing.
"""

import contextlib
import hashlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

import orjson

from corral.domain.net.http_cache import StoredPage

_FORMAT = 1
_MAX_HEAD_BYTES = 256 * 1024
_PRIVATE_FOLDER = 0o700
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_PART = ".part"
_PART_LEFT_S = 3600.0
# Eviction frees space down to this share. A process checks the size each time it has written 1/16 of the limit.
_FREED_TO = 0.9
_CHECK_SHARE = 16


class TooLarge(Exception):
    """The stored body is larger than the reader accepts."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    bytes: int
    used_at: float


class DiskCache:
    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._unchecked_bytes = max_bytes  # the first write checks the size

    def read(self, key: str, max_body_bytes: int) -> StoredPage | None:
        """Return a stored page or None; raise TooLarge before reading a body that is too large."""
        path = self._path(key)
        try:
            with os.fdopen(os.open(path, _READ), "rb") as file:
                head = file.readline(_MAX_HEAD_BYTES)
                size = os.fstat(file.fileno()).st_size - len(head)
                page = _deserialize(head, file.read() if size <= max_body_bytes else None, size)
        except OSError:
            return None
        if page is None:
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # eviction removes the least recently used first
        return page

    def write(self, key: str, page: StoredPage) -> None:
        """Store a page. On OSError nothing is left behind."""
        data = _serialize(page)
        path = self._path(key)
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        part = path.with_name(f"{key}.{secrets.token_hex(8)}{_PART}")
        try:
            with os.fdopen(os.open(part, _WRITE_NEW, 0o600), "wb") as file:
                file.write(data)
            # Not synced: a file that a power cut damaged fails its checksum when it is read.
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        self._unchecked_bytes += len(data)
        if self._unchecked_bytes > self._max_bytes / _CHECK_SHARE:
            self._unchecked_bytes = 0
            self._make_room()

    def _path(self, key: str) -> Path:
        return self._root / key[:2] / key

    def _make_room(self) -> None:
        files = self._files()
        total = sum(file.bytes for file in files)
        if total <= self._max_bytes:
            return
        for file in sorted(files, key=lambda each: each.used_at):
            if total <= self._max_bytes * _FREED_TO:
                return
            Path(file.path).unlink(missing_ok=True)
            total -= file.bytes

    def _files(self) -> list[_File]:
        """List the stored files; removes unfinished parts."""
        found = []
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = os.path.join(folder, name)  # noqa: PTH118 - building a Path costs more than the check
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                if name.endswith(_PART) and time.time() - status.st_mtime > _PART_LEFT_S:
                    Path(path).unlink(missing_ok=True)
                else:
                    found.append(_File(path, status.st_size, status.st_mtime))
        return found


def _serialize(page: StoredPage) -> bytes:
    head = {
        "format": _FORMAT,
        "url": page.url,
        "status": page.status,
        "headers": page.headers,
        "chain": page.chain,
        "stored_at": page.stored_at,
        "asked_with": page.request_headers,
        "body": hashlib.sha256(page.body).hexdigest(),
    }
    packed = orjson.dumps(head)
    digest = hashlib.sha256(packed).hexdigest().encode()
    return digest + b" " + packed + b"\n" + page.body


def _deserialize(line: bytes, body: bytes | None, size: int) -> StoredPage | None:
    digest, _, packed = line.rstrip(b"\n").partition(b" ")
    if hashlib.sha256(packed).hexdigest().encode() != digest:
        return None
    head = orjson.loads(packed)
    if head.get("format") != _FORMAT:
        return None
    if body is None:
        raise TooLarge(f"{size} bytes")
    if hashlib.sha256(body).hexdigest() != head["body"]:
        return None
    return StoredPage(
        url=head["url"],
        status=head["status"],
        headers=tuple((name, value) for name, value in head["headers"]),
        body=body,
        chain=tuple(head["chain"]),
        stored_at=head["stored_at"],
        request_headers=tuple((name, value) for name, value in head["asked_with"]),
    )
