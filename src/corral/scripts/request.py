"""The request to start a script, as JSON in a memory file, and the commands to its keeper."""

import json
import os
from dataclasses import asdict, dataclass, field

STOP_GRACE_S = 5.0
# Processes that a script leaves behind may still be ending by themselves.
LEFTOVER_GRACE_S = 2.0
RESULT_FD = 3

# Commands to a keeper, one byte each, followed by nothing. EOF means that the worker has ended.
STOP_OUTPUT, STOP_RECORDS, STOP_CANCELLED, STOP_INTERRUPTED, STOP_KILLED = b"o", b"r", b"c", b"i", b"k"
# Commands by the signal that a cancel names; any other cancel begins with SIGTERM.
STOP_BY_SIGNAL = {"SIGINT": STOP_INTERRUPTED, "SIGKILL": STOP_KILLED}


@dataclass(frozen=True, slots=True)
class StartRequest:
    argv: list[str]
    cwd: str
    env: dict[str, str]
    timeout_s: float
    memory_mib: int
    processes: int
    file_mib: int
    cpu_s: int | None = None
    hidden: list[str] = field(default_factory=list)
    records_path: str | None = None
    records_max_bytes: int = 0

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> "StartRequest":
        return cls(**json.loads(data))


def write_memory_file(data: bytes) -> int:
    """Return a descriptor with this content, because a message over a socket is limited in size."""
    descriptor = os.memfd_create("corral-script")
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def read_all(descriptor: int) -> bytes:
    chunks = []
    while chunk := os.read(descriptor, 65536):
        chunks.append(chunk)
    return b"".join(chunks)
