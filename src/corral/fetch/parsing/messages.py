"""What a pool and its parsing processes say to each other, over pairs of sockets. Pages travel as they came."""

import struct
from dataclasses import astuple, dataclass, replace

from corral.extract.links import MAX_LINKS
from corral.fetch.limits import MIB

# What one link beyond the default limit adds to the bounds of a reader: measured, and doubled.
_CPU_S_PER_LINK = 50e-6
_BYTES_PER_LINK = 4096
_ANSWER_BYTES_PER_LINK = 400

# To a reader: seconds of processor time, then the sizes of what follows: the places of the fields to leave out (one
# byte each), the request without its body, the body; and whether another one follows at once.
request_sizes = struct.Struct("!dIIQ?")
# From a reader: what it is, and the size of what follows.
answer_size = struct.Struct("!cI")
READ = b"R"
LAST_READ = b"L"  # and the reader has ended itself
BUG = b"B"
# From the process that forks readers: what happened, and to whom or how.
control_size = struct.Struct("!ci")
STARTED = b"S"
ENDED = b"E"
# In a file that outlives the reader: the place of the field whose selector is being looked up, and how many pages have
# been read to their end. Answers are told several at once, so some of those may never be told.
note = struct.Struct("!I")
READ_AT = note.size
MAX_FIELDS = 256  # with places that can be left out


@dataclass(frozen=True, slots=True)
class Limits:
    """What one page may cost its reader, and how long a reader is kept."""

    cpu_s: float = 5.0
    selector_s: float = 1.0
    wall_s: float = 30.0  # for a reader that uses no processor time, or gets none
    address_bytes: int = 768 * MIB
    resident_bytes: int = 512 * MIB
    pages_per_reader: int = 5_000  # it remembers the links of a site, and what it takes is looked at after every page
    max_waiting: int = 64
    answer_bytes: int = 48 * MIB

    def for_links(self, max_links: int) -> "Limits":
        """With room for pages of so many links."""
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
    def parse(cls, text: str) -> "Limits":
        cpu_s, selector_s, wall_s, *counts = text.split(",")
        return cls(float(cpu_s), float(selector_s), float(wall_s), *map(int, counts))


def request_frame(cpu_s: float, skipped: frozenset[int], head: bytes, body_bytes: int, *, has_more: bool) -> bytes:
    """Everything before the body."""
    places = bytes(sorted(skipped))
    return request_sizes.pack(cpu_s, len(places), len(head), body_bytes, has_more) + places + head


def answer_frame(kind: bytes, packed: bytes) -> bytes:
    return answer_size.pack(kind, len(packed)) + packed


def answer_in(arrived: bytearray) -> tuple[bytes, bytes] | None:
    """The first whole answer, taken out of what has arrived; None where there is none yet."""
    if len(arrived) < answer_size.size:
        return None
    kind, size = answer_size.unpack_from(arrived)
    end = answer_size.size + size
    if len(arrived) < end:
        return None
    packed = bytes(arrived[answer_size.size : end])
    del arrived[:end]
    return kind, packed


def control_frame(kind: bytes, value: int) -> bytes:
    return control_size.pack(kind, value)
