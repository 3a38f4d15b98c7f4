"""One task of the queue: a scraper, its parameters and a priority; and the file that lists tasks."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from corral.domain.errors import BadConfiguration, CorralError, NotFound, WrongState
from corral.domain.jobs.job import Priority

# Keys of a task that describe it. Its scraper receives them only if it lists them as accepted parameters.
ABOUT_TASK = frozenset(
    {
        *("id", "priority", "source", "scraper", "gap_type", "data_type", "reason", "estimated_time_minutes"),
        "custom_settings",
    }
)
# A task with other values of these is still the same task.
_NOT_COMPARED = frozenset({"id", "priority", "reason"})
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}")
_MAX_DOCUMENT = 262_144
_MAX_ESTIMATE = 1e9
_PRIORITIES = {priority.name: priority for priority in Priority}


class TaskState(StrEnum):
    READY = "ready"
    STARTED = "started"  # it has a run, whose state is the public state of the task
    COMPLETED = "completed"
    PARTIAL = "partial"  # its script succeeded, but some of its output could not be read
    DEAD = "dead"  # its last run failed for good
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self not in {TaskState.READY, TaskState.STARTED}


# A person can send these back to the queue.
REQUEUED = frozenset({TaskState.DEAD, TaskState.PARTIAL, TaskState.CANCELLED})


class TaskNotFound(NotFound):
    def __init__(self, task_id: str) -> None:
        super().__init__(f"no task {task_id[:128]}", hint="list tasks with `corral queue list`")


class WrongTaskState(WrongState):
    def __init__(self, what: str, task_id: str, state: str) -> None:
        CorralError.__init__(self, f"cannot {what} task {task_id}: it is {state}")
        self.state = state


class QueueTask(NamedTuple):
    """A task as a queue file states it."""

    id: str
    priority: Priority
    scraper: str
    document: Mapping[str, Any]
    digest: str  # equal for tasks that do the same

    @property
    def estimated_minutes(self) -> float | None:
        return self.document.get("estimated_time_minutes")

    @property
    def custom_settings(self) -> dict[str, Any]:
        """Return settings for the scraper, in addition to those of its configuration."""
        return dict(self.document.get("custom_settings") or {})

    def parameters(self, accepted: Iterable[str] | None) -> dict[str, Any]:
        """Return the values for the scraper: its own parameters, and those describing keys that it accepts."""
        wanted = frozenset(accepted or ())
        return {name: value for name, value in self.document.items() if name not in ABOUT_TASK or name in wanted}


@dataclass(frozen=True, slots=True)
class MalformedTask:
    index: int
    id: str | None
    reason: str


class QueueFile(NamedTuple):
    tasks: list[QueueTask]
    malformed: list[MalformedTask]
    notes: list[str]  # contradictions within the file that cost no task


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task with its history. `run_state` is the state of its current run."""

    task: QueueTask
    state: TaskState
    imported_at: datetime
    run_id: str | None = None
    run_state: str | None = None
    starts: int = 0
    reason: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    history: tuple[dict[str, Any], ...] = ()
    seq: int = 0

    def has_settled(self, task: QueueTask, *, retry_dead: bool) -> bool:
        """Return whether this task has ended for good. The same id with other content is another task."""
        is_retried = retry_dead and self.state is TaskState.DEAD
        return self.state.has_ended and not is_retried and self.task.digest == task.digest

    @property
    def public_state(self) -> str:
        return self.run_state or "running" if self.state is TaskState.STARTED else self.state.value


@dataclass(frozen=True, slots=True)
class ImportReport:
    imported: int = 0
    updated: int = 0  # the same id with other content; it is ready again
    unchanged: int = 0
    busy: tuple[str, ...] = ()  # the same id with other content, while the stored task is executed
    malformed: tuple[MalformedTask, ...] = ()
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "imported": self.imported,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "busy": list(self.busy),
            "malformed": [asdict(each) for each in self.malformed],
            "notes": list(self.notes),
        }


def is_task_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parse_priority(text: object) -> Priority:
    """Parse a priority; ValueError lists the names."""
    priority = _PRIORITIES.get(text.upper()) if isinstance(text, str) else None
    if priority is None:
        names = ", ".join(_PRIORITIES)
        raise ValueError(f"priority {str(text)[:40]!r} is none of {names}")
    return priority


def parse_queue_file(document: object, where: str) -> QueueFile:
    """Return the tasks of a queue file and its malformed entries; raise BadConfiguration if it is no queue file."""
    entries = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(entries, list):
        raise BadConfiguration([f"{where} is not a queue file; it needs an object with a list `tasks`"])
    tasks: list[QueueTask] = []
    malformed: list[MalformedTask] = []
    seen: set[str] = set()
    for index, result in enumerate(_parse_entries(entries)):
        if isinstance(result, str):
            id_ = entries[index].get("id") if isinstance(entries[index], dict) else None
            malformed.append(MalformedTask(index, id_[:128] if isinstance(id_, str) else None, result))
        elif result.id in seen:
            malformed.append(MalformedTask(index, result.id, "this id is in the file twice; the first entry counts"))
        else:
            seen.add(result.id)
            tasks.append(result)
    total = document.get("total_tasks")
    is_right = total is None or total == len(entries)
    notes = [] if is_right else [f"total_tasks is {str(total)[:40]}, but there are {len(entries)}"]
    return QueueFile(tasks, malformed, notes)


def _parse_entries(entries: list[Any]) -> Iterator[QueueTask | str]:
    for entry in entries:
        try:
            yield parse_task(entry)
        except ValueError as error:
            yield str(error)


def parse_task(entry: object) -> QueueTask:
    """Parse a task; ValueError names the problem."""
    if not isinstance(entry, dict):
        raise ValueError("is not an object")
    id_, scraper = entry.get("id"), entry.get("scraper")
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise ValueError("id is not a text of 1 to 128 letters, digits and _ . : @ -")
    if not isinstance(scraper, str) or not 0 < len(scraper) <= 200:
        raise ValueError("scraper is not the name of a scraper")
    _check_estimate(entry.get("estimated_time_minutes"))
    if not isinstance(entry.get("custom_settings", {}), dict):
        raise ValueError("custom_settings is not an object")
    priority = parse_priority(entry.get("priority"))
    return QueueTask(id_, priority, scraper, entry, _digest(entry))


def _check_estimate(value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MAX_ESTIMATE:
        raise ValueError("estimated_time_minutes is not a number of minutes")


def _digest(entry: Mapping[str, Any]) -> str:
    compared = {name: value for name, value in entry.items() if name not in _NOT_COMPARED}
    encoded = _encode(compared)
    reason = _encode(entry["reason"]) if "reason" in entry else b""
    size = len(encoded) + len(reason)
    if size > _MAX_DOCUMENT:
        raise ValueError(f"has {size:,} bytes; at most {_MAX_DOCUMENT:,} are accepted")
    # The databases cannot store NUL: the script would receive another value.
    if (b"\\u0000" in encoded or b"\\u0000" in reason) and _has_nul(entry):
        raise ValueError("contains a NUL character")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _encode(value: object) -> bytes:
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError) as error:  # also unpaired surrogates
        raise ValueError(f"cannot be stored as JSON: {error}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Mapping):
        return any(_has_nul(each) for pair in value.items() for each in pair)
    return isinstance(value, list) and any(map(_has_nul, value))
