"""Check the content of a file as far as that is cheap: its first and last bytes, and the whole of small JSON files."""

import os
from typing import BinaryIO

from corral.domain.coverage.spec import ContentFormat

_PARSED_BYTES = 1024 * 1024
_EDGE_BYTES = 4096
_SIGNATURES: dict[ContentFormat, tuple[bytes, bytes]] = {
    ContentFormat.GZIP: (b"\x1f\x8b", b""),
    ContentFormat.ZIP: (b"PK", b""),
    ContentFormat.PARQUET: (b"PAR1", b"PAR1"),
    ContentFormat.PNG: (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
    ContentFormat.JPEG: (b"\xff\xd8\xff", b"\xff\xd9"),
    ContentFormat.PDF: (b"%PDF-", b""),
}
_CLOSING = {b"{": b"}", b"[": b"]"}


def check_file(path: str, size: int, content: ContentFormat) -> str | None:
    """Return what is wrong with the file, or None."""
    if content is ContentFormat.ANY or size == 0:
        return None
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a million of them
            if content in {ContentFormat.JSON, ContentFormat.JSONL}:
                return _check_json(file, size, content)
            begin, end = _SIGNATURES[content]
            return _check_signature(file, size, begin, end, content)
    except OSError as error:
        return f"cannot be read ({error.strerror})"


def _check_signature(file: BinaryIO, size: int, begin: bytes, end: bytes, content: ContentFormat) -> str | None:
    if file.read(len(begin)) != begin:
        return f"does not begin like {content.value}"
    if end and _tail(file, size, len(end)) != end:
        return f"does not end like {content.value}: truncated"
    return None


def _check_json(file: BinaryIO, size: int, content: ContentFormat) -> str | None:
    if size <= _PARSED_BYTES:
        return _parse(file.read(), content)
    head, tail = file.read(_EDGE_BYTES).lstrip(), _tail(file, size, _EDGE_BYTES).rstrip()
    if content is ContentFormat.JSONL:
        return _parse(tail.rpartition(b"\n")[2], ContentFormat.JSON) if b"\n" in tail else None
    closing = _CLOSING.get(head[:1])
    return None if closing is not None and tail.endswith(closing) else "is not a complete JSON document"


def _parse(body: bytes, content: ContentFormat) -> str | None:
    import orjson  # noqa: PLC0415 - only if a rule needs it

    try:
        for line in body.splitlines() if content is ContentFormat.JSONL else [body]:
            if line.strip() or content is ContentFormat.JSON:
                orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f"is not valid {content.value.upper()}: {error.msg}"[:200]
    return None


def _tail(file: BinaryIO, size: int, length: int) -> bytes:
    file.seek(max(0, size - length), os.SEEK_SET)
    return file.read()
