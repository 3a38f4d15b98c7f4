"""The clock of a single-node installation: it starts at the wall-clock time and cannot jump within one boot."""

import time
from pathlib import Path
from typing import Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Only Linux has a clock that keeps counting while the machine sleeps.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    def boot_id(self) -> str:
        """Return an id that changes when the machine restarts, which invalidates every lease."""
        ...

    def since_boot_ms(self) -> int: ...

    def wall_ms(self) -> int: ...


class SystemClock:
    def boot_id(self) -> str:
        return _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else "unknown"

    def since_boot_ms(self) -> int:
        return time.clock_gettime_ns(_BOOT_CLOCK) // 1_000_000

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000
