"""Messages between a parser pool, its parser processes and their readers.

A request is `request_header`, a JSON head (`_RequestHead`) and the body of the page as it arrived. An answer is
`answer_header` and a JSON document: a `ReadAnswer`, or the traceback of a bug. Both have a length first, because one
side of the link reads from a plain socket.
"""

import struct
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import Survey
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.links import MAX_LINKS
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.limits import MIB

# Additional limits of a reader for each link beyond the default: the measured cost, doubled.
_CPU_S_PER_LINK = 50e-6
_BYTES_PER_LINK = 4096
_ANSWER_BYTES_PER_LINK = 400

# To a reader: the lengths of the head and of the body.
request_header = struct.Struct("!IQ")
# From a reader: the kind of the answer and its length.
answer_header = struct.Struct("!cI")
READ = b"R"
LAST_READ = b"L"  # the reader exits after this answer
BUG = b"B"
# From the process that forks readers: an event, and the pid or the exit code.
control_frame = struct.Struct("!ci")
STARTED = b"S"
ENDED = b"E"
# Shared memory that outlives the reader: the index of the field whose selector is being evaluated, the number of pages
# read so far, and whether custom code runs. A reader sends several answers at once, so one that dies may have read
# pages whose answers it never sent.
note = struct.Struct("!I")
READ_AT = note.size
CODE_AT = 2 * note.size
MAX_FIELDS = 256  # fields with a greater index cannot be skipped


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """The limits of one page in its reader, and the lifetime of a reader."""

    cpu_s: float = 5.0
    selector_s: float = 1.0
    wall_s: float = 30.0  # for a reader that waits, or gets no processor time
    code_wall_s: float = 15.0  # the same for a page with custom code; less than the time limit of a page
    address_bytes: int = 768 * MIB
    resident_bytes: int = 512 * MIB
    pages_per_reader: int = 5_000  # a reader caches the links of a site; its memory is checked after every page
    max_waiting: int = 64
    answer_bytes: int = 48 * MIB

    def for_links(self, max_links: int) -> "ReaderLimits":
        """Return the limits for pages of up to `max_links` links."""
        more = max(0, max_links - MAX_LINKS)
        return replace(
            self,
            cpu_s=self.cpu_s + more * _CPU_S_PER_LINK,
            address_bytes=self.address_bytes + more * _BYTES_PER_LINK,
            resident_bytes=self.resident_bytes + more * _BYTES_PER_LINK,
            answer_bytes=self.answer_bytes + more * _ANSWER_BYTES_PER_LINK,
        )

    def __str__(self) -> str:
        return ",".join(map(str, astuple(self)))

    @classmethod
    def parse(cls, text: str) -> "ReaderLimits":
        cpu_s, selector_s, wall_s, code_wall_s, *counts = text.split(",")
        return cls(float(cpu_s), float(selector_s), float(wall_s), float(code_wall_s), *map(int, counts))


class _RequestHead(msgspec.Struct, frozen=True, array_like=True):
    """A `ReadRequest` without its body, and the limits for it."""

    cpu_s: float
    skipped: tuple[int, ...]  # indexes of fields whose selectors take too long
    has_more: bool  # the next request follows at once, so this answer may be sent together with the next one
    url: str
    requested_url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    fields: tuple[FieldSpec, ...]
    should_classify: bool
    is_shell_check: bool
    survey: Survey | None
    crawl: CrawlReadOptions | None
    max_value_chars: int
    max_links: int
    now: datetime | None
    memory_mib: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """One page to read, as a reader receives it."""

    request: ReadRequest
    cpu_s: float
    skipped: frozenset[int] = frozenset()  # indexes of fields whose selectors take too long
    has_more: bool = False


def _encode_subclass(value: object) -> Any:
    """Encode subclasses of str, such as the strings that lxml returns."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=_encode_subclass)
_head_decoder = msgspec.json.Decoder(_RequestHead)
_answer_decoder = msgspec.json.Decoder(ReadAnswer)


def encode_head(question: Question) -> bytes:
    """Encode everything but the body, which follows unchanged."""
    request = question.request
    head = _RequestHead(
        question.cpu_s,
        tuple(sorted(question.skipped)),
        question.has_more,
        request.url,
        request.requested_url,
        request.status,
        request.headers,
        request.fields,
        request.should_classify,
        request.is_shell_check,
        request.survey,
        request.crawl,
        request.max_value_chars,
        request.max_links,
        request.now,
        request.memory_mib,
    )
    encoded = _encoder.encode(head)
    return request_header.pack(len(encoded), len(request.body)) + encoded


def decode_question(encoded: bytes, body: bytes) -> Question:
    head = _head_decoder.decode(encoded)
    request = ReadRequest(
        body,
        head.url,
        head.requested_url,
        head.status,
        head.headers,
        head.fields,
        head.should_classify,
        head.is_shell_check,
        head.survey,
        head.crawl,
        head.max_value_chars,
        head.max_links,
        head.now,
        head.memory_mib,
    )
    return Question(request, head.cpu_s, frozenset(head.skipped), head.has_more)


def encode_answer(answer: ReadAnswer) -> bytes:
    return _encoder.encode(answer)


def decode_answer(encoded: bytes) -> ReadAnswer:
    return _answer_decoder.decode(encoded)


def answer_frame(kind: bytes, encoded: bytes) -> bytes:
    return answer_header.pack(kind, len(encoded)) + encoded


def pop_answer(received: bytearray) -> tuple[bytes, bytes] | None:
    """Remove the first complete answer from the buffer and return it; None if it is not complete yet."""
    if len(received) < answer_header.size:
        return None
    kind, size = answer_header.unpack_from(received)
    end = answer_header.size + size
    if len(received) < end:
        return None
    encoded = bytes(received[answer_header.size : end])
    del received[:end]
    return kind, encoded
