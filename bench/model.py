"""What a benchmark is made of: entries to compare, the place each one gets, and what it hands back."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from bench.services import Service

# A yardstick is no peer: it says what the machine can do.
Role = Literal["corral", "peer", "history", "yardstick"]


@dataclass(frozen=True)
class Result:
    """One measurement. `metrics` holds the side figures by key (see `Bench.metrics`), `variants` every
    configuration tried when a competitor reports the best of several."""

    rate_per_s: float
    count: int
    seconds: float
    notes: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    variants: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """What a competitor may use: an empty folder and the services it asked for. Gone afterwards."""

    folder: Path
    services: dict[str, Service]
    quick: bool = False


class Competitor(Protocol):
    """Made as `Factory(place)` in a subprocess of its own. `measure` may be a coroutine function.

    An optional method `extras() -> dict[str, float]` (or a coroutine function) is called in a second
    subprocess, on a fresh place, and its figures are added to the metrics.
    """

    name: str

    def measure(self, count: int) -> Result | Awaitable[Result]: ...


@dataclass(frozen=True)
class Entry:
    """One row: how to make the competitor (`module:attribute`), what it needs, how much work it gets."""

    name: str
    target: str
    role: Role
    count: int
    quick_count: int
    services: tuple[str, ...] = ()
    timeout_s: float = 180.0


@dataclass(frozen=True)
class Metric:
    """A side figure: its key in `Result.metrics`, how to title it, and which direction is better."""

    key: str
    title: str
    higher_is_better: bool = False


@dataclass(frozen=True)
class Bench:
    """A named comparison. `aim` is the ratio to the best peer that the project has set itself."""

    name: str
    title: str
    unit: str
    entries: tuple[Entry, ...]
    metrics: tuple[Metric, ...] = ()
    aim: float | None = None
    history_tolerance: float = 0.10


@dataclass(frozen=True)
class Outcome:
    """What came of an entry: a result, or the reason there is none."""

    entry: Entry
    result: Result | None
    error: str = ""
