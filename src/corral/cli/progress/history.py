"""The events of a run as lines: → start, ← end, ↻ another try, ! a problem."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from corral.cli.render import TONES, printable
from corral.domain.runs.event import Event, EventKind
from corral.store.store import Store

if TYPE_CHECKING:
    from rich.text import Text


_POLL_S = 0.25
_PAGE = 500
_MAX_VALUE = 120
_SIGNS = {
    EventKind.STARTED: "→",
    EventKind.COMPLETED: "←",
    EventKind.PARTIAL: "←",
    EventKind.RETRY_SCHEDULED: "↻",
    EventKind.ESCALATED: "↻",
    EventKind.RELEASED: "↻",
    EventKind.RESUMED: "↻",
    EventKind.HOST_DEFERRED: "↻",
    EventKind.FAILED: "!",
    EventKind.WORKER_LOST: "!",
    EventKind.QUARANTINED: "!",
    EventKind.STALE_WRITE_REFUSED: "!",
    EventKind.WAITING: "!",
    EventKind.TLS_UNVERIFIED: "!",
    EventKind.ROBOTS_TRUNCATED: "!",
}
# A selection of the statistics; `corral run show` has all.
_MAIN_STATS = ("http_status", "title", "bytes")
_TONES = {"→": "blue", "←": "green", "↻": "yellow", "!": "red"}


async def follow(
    store: Store, run_id: str, wait: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncIterator[Event]:
    """Yield each event of a run as it happens, up to the final one."""
    after, ended = 0, False
    while not ended:
        page = await store.events.of_run(run_id, after, _PAGE)
        for event in page:
            yield event
            after, ended = event.seq, ended or event.is_last
        if not page:
            await wait(_POLL_S)


async def load_history(store: Store, run_id: str) -> list[Event]:
    events: list[Event] = []
    while page := await store.events.of_run(run_id, events[-1].seq if events else 0, _PAGE):
        events += page
    return events


def sign(event: Event) -> str:
    return _SIGNS.get(event.kind, "·")


def line(event: Event) -> str:
    clock = event.created_at.astimezone().strftime("%H:%M:%S.%f")[:-3]
    return f"{clock} {sign(event)} {event.message}{_details(event.meta)}"


def style_line(event: Event) -> "Text":
    from rich.text import Text

    clock = event.created_at.astimezone().strftime("%H:%M:%S.%f")[:-3]
    text = Text(f"{clock} ", style="bright_black")
    tone = _TONES.get(sign(event), TONES["·"])
    text.append(f"{sign(event)} {event.message}", style=tone)
    text.append(_details(event.meta))
    return text


def _details(meta: dict[str, Any]) -> str:
    parts = [f"{name}={_value(value)}" for name, value in _flat(meta) if value not in (None, "", [], {})]
    return "  " + " ".join(parts) if parts else ""


def _flat(meta: dict[str, Any]) -> list[tuple[str, Any]]:
    """Flatten values nested one level deep, without tracebacks, which only `--json` shows."""
    flat: list[tuple[str, Any]] = []
    for name, value in meta.items():
        if name in ("traceback", "stderr_tail"):
            continue
        if name == "stats" and isinstance(value, dict):
            flat += [(key, value[key]) for key in _MAIN_STATS if key in value]
        else:
            flat += list(value.items()) if isinstance(value, dict) else [(name, value)]
    return flat


def _value(value: Any) -> str:
    text = printable(value, _MAX_VALUE)
    return f'"{text}"' if isinstance(value, str) and (" " in text or not text) else text
