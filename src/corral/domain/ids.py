"""Identifiers: UUIDv7 for rows (they sort by age), 128 random bits for owners."""

import os
import random
import secrets
import threading
import time
import uuid
from typing import NewType

JobId = NewType("JobId", str)
RunId = NewType("RunId", str)
Owner = NewType("Owner", str)

_lock = threading.Lock()
# Ids have to differ, not to be secret; a generator of our own spares a system call for each.
_random = random.Random(secrets.randbits(256))
os.register_at_fork(after_in_child=lambda: _random.seed(secrets.randbits(256)))
_last_tick = 0


def _next_tick() -> int:
    """Milliseconds with twelve bits of fraction, strictly rising within this process."""
    global _last_tick  # noqa: PLW0603 - one counter for the process is what makes ids sort by age
    tick = (time.time_ns() << 12) // 1_000_000
    with _lock:
        _last_tick = max(tick, _last_tick + 1)
        return _last_tick


def new_id() -> str:
    tick = _next_tick()
    millis, fraction = tick >> 12, tick & 0xFFF
    tail = _random.getrandbits(62)
    value = (millis & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_owner() -> Owner:
    """Who holds a lease. Random per process start: host names and pids are used again, this is not."""
    return Owner(secrets.token_hex(16))


def event_id(run_id: str, seq: int) -> str:
    """An event is named by its run and number; its UUID is derived so that nothing more has to be stored."""
    return str(uuid.uuid5(uuid.UUID(run_id), str(seq)))


def is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
