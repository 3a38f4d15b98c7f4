"""Helpers of the tests of warc, shared with other tests."""

import io
from typing import Any

from warcio.archiveiterator import ArchiveIterator


def read(data: bytes) -> list[tuple[str, str | None, Any, bytes]]:
    """Type, address, HTTP head and payload of each record."""
    found = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests="raise"):
        url = record.rec_headers.get_header("WARC-Target-URI")
        found.append((record.rec_type, url, record.http_headers, record.raw_stream.read()))
    return found
