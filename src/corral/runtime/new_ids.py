"""New identifiers. They depend on the clock and on random numbers, so they are created outside `domain`."""

import os
import random
import secrets
import threading
import time

from corral.domain.ids import Owner

_lock = threading.Lock()
# Ids must be unique, not secret; a generator of our own saves a system call for each.
_random = random.Random(secrets.randbits(256))
os.register_at_fork(after_in_child=lambda: _random.seed(secrets.randbits(256)))
_last_tick = 0


def _next_tick() -> int:
    """Return milliseconds with twelve bits of fraction, strictly increasing within this process."""
    global _last_tick  # noqa: PLW0603 - one counter per process makes ids sort by age
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
    """Create the name of a lease holder. It is random per process start: host names and pids are reused."""
    return Owner(secrets.token_hex(16))
