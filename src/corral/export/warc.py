"""Write the pages of a crawl as WARC 1.1: each response is a record that can be read by itself."""

import base64
import gzip
import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus

import corral
from corral.domain.crawl.page_archive import ArchivedPage
from corral.domain.crawl.payload import plan_of
from corral.domain.runs.run import Run
from corral.export.outbox import Outbox

_FIELDS = "application/warc-fields"
_BREAKS = re.compile(r"[\r\n\0]+")
# These headers describe the encoded bytes on the wire; the archive stores the decoded body.
_WIRE_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class WarcWriter:
    """Writes the same file for the same run: ids and times come from the run and its pages."""

    def __init__(self, out: Outbox, run: Run, *, packs: bool = True) -> None:
        self._out = out
        self._packs = packs
        self._run_id = run.id
        self._info_id = self._id_of("warcinfo")
        plan = plan_of(run.payload)
        about = {
            "software": f"Corral/{corral.__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "isPartOf": f"run {run.id}",
            "robots": "obey" if plan.respect_robots else "ignore",
        }
        head = {"WARC-Type": "warcinfo", "WARC-Record-ID": self._info_id, "WARC-Date": _date(run.created_at)}
        self._write({**head, "Content-Type": _FIELDS}, _lines(about))

    def add(self, pages: Iterable[ArchivedPage]) -> int:
        count = 0
        for page in pages:
            self._add(page)
            count += 1
        return count

    def _add(self, page: ArchivedPage) -> None:
        body = page.body
        response_id = self._id_of(f"response {page.id}")
        head = {
            "WARC-Record-ID": response_id,
            "WARC-Date": _date(datetime.fromtimestamp(page.fetched_at / 1000, UTC)),
            "WARC-Target-URI": page.url,
            "WARC-Warcinfo-ID": self._info_id,
        }
        response_head = {
            "WARC-Payload-Digest": _digest(body),
            "Content-Type": "application/http; msgtype=response",
        }
        self._write({"WARC-Type": "response", **head, **response_head}, _http_head(page, len(body)) + body)
        if page.requested_url is not None:
            head |= {"WARC-Record-ID": self._id_of(f"metadata {page.id}"), "WARC-Concurrent-To": response_id}
            via = _lines({"via": page.requested_url, "hopsFromSeed": "R"})
            self._write({"WARC-Type": "metadata", **head, "Content-Type": _FIELDS}, via)

    def end(self) -> None:
        pass

    def _id_of(self, what: str) -> str:
        return f"<urn:uuid:{uuid.uuid5(uuid.UUID(self._run_id), what)}>"

    def _write(self, head: Mapping[str, str], block: bytes) -> None:
        lines = _lines({**head, "WARC-Block-Digest": _digest(block), "Content-Length": str(len(block))})
        record = b"".join((b"WARC/1.1\r\n", lines, b"\r\n", block, b"\r\n\r\n"))
        self._out.write(gzip.compress(record, 6, mtime=0) if self._packs else record)


def _http_head(page: ArchivedPage, length: int) -> bytes:
    try:
        phrase = HTTPStatus(page.http_status).phrase
    except ValueError:
        phrase = ""
    headers = [(f"x-archive-orig-{name}" if name in _WIRE_HEADERS else name, value) for name, value in page.headers]
    lines = [f"{name}: {_BREAKS.sub(' ', value)}\r\n" for name, value in (*headers, ("content-length", str(length)))]
    return f"HTTP/1.1 {page.http_status} {phrase}\r\n{''.join(lines)}\r\n".encode()


def _lines(named: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {_BREAKS.sub(' ', value)}\r\n" for name, value in named.items()).encode()


def _date(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _digest(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()
