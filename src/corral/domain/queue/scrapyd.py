"""Tasks of the queue in the terms of scrapyd: spiders are scrapers, jobs are tasks. Pure."""

import math
import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.jobs.job import Priority
from corral.domain.queue.task import ABOUT_TASK, StoredTask, TaskState
from corral.domain.runs.run import RunState
from corral.domain.scripts.scraper import ParameterSpec, ScraperSpec, normalize_parameter

Form = Mapping[str, Sequence[str]]

# Parameters of scrapyd itself; all others are arguments of the spider.
_OWN = frozenset({"project", "spider", "jobid", "priority", "setting", "_version"})
_WAITING = frozenset({RunState.QUEUED.value, "paused"})
_NUMBER = re.compile(r"[+]?\d{1,18}|-\d{1,18}")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
# A script may delay its end for five seconds after the first two; the last one ends it at once.
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}


def first_of(form: Form, name: str) -> str | None:
    return form[name][0] if form.get(name) else None


def require(form: Form, name: str) -> str:
    value = first_of(form, name)
    if value is None:
        raise BadInput(f"'{name}' parameter is required", field=name)
    return value


def refuse_project(project: str) -> BadInput:
    return BadInput(f"project '{project[:80]}' not found", field="project")


def refuse_version(version: str) -> BadInput:
    """Return the error for a version: Corral executes the installed scripts and has no other versions."""
    return BadInput(f"version '{version[:80]}' not found", field="_version")


def make_entry(form: Form, task_id: str, spec: ScraperSpec) -> dict[str, Any]:
    """Return the entry of a queue file for a form of `schedule.json`."""
    params = {name: list(values) if len(values) > 1 else values[0] for name, values in form.items() if name not in _OWN}
    _refuse_lost(params, spec)
    rules = {each.name: each for each in spec.parameters or ()}
    entry: dict[str, Any] = {
        name: _convert(value, rules.get(normalize_parameter(name))) for name, value in params.items()
    }
    if form.get("setting"):
        entry["custom_settings"] = read_settings(form["setting"])
    return {**entry, "id": task_id, "scraper": spec.name, "priority": read_priority(first_of(form, "priority")).name}


def _refuse_lost(params: Iterable[str], spec: ScraperSpec) -> None:
    """Refuse arguments with the names of task properties: the spider would not receive them."""
    accepted = {each.name for each in spec.parameters or ()} - {"id", "scraper", "priority", "custom_settings"}
    lost = next((name for name in params if name in ABOUT_TASK and name not in accepted), None)
    if lost is not None:
        raise BadInput(f"argument {lost!r} is a property of the task and is not passed to the spider", field=lost)


def _convert(value: str | list[str], rules: ParameterSpec | None) -> Any:
    """Convert a text of the form to the type that the scraper declares; a value that does not fit stays a text."""
    kind = None if rules is None else rules.type
    if kind == "list":
        return value.split(",") if isinstance(value, str) else value
    if isinstance(value, list):
        return value
    if kind == "boolean":
        return _FLAGS.get(value.lower(), value)
    if kind in {"integer", "number"}:
        return _read_number(value, kind)
    return value


def _read_number(text: str, kind: str) -> Any:
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if kind == "number" and math.isfinite(number) else text


def read_settings(texts: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=VALUE` texts into a mapping; later ones win."""
    settings: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise BadInput(f"setting is invalid: {text[:80]!r} is not NAME=VALUE", field="setting")
        settings[name.strip()] = value
    return settings


def read_priority(text: str | None) -> Priority:
    """Convert a scrapyd priority, a number of which the highest comes first."""
    try:
        number = float(text or 0)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise BadInput(f"priority is invalid: {str(text)[:40]!r} is no number", field="priority")
    if number > 1:
        return Priority.CRITICAL
    return Priority.HIGH if number > 0 else Priority.LOW if number < 0 else Priority.MEDIUM


def read_signal(text: str | None) -> str:
    """Return the signal that a cancel sends first. Scrapyd accepts names with or without SIG, and numbers."""
    if text is None:
        return "SIGINT"
    aliases = {alias: name for name, number in SIGNALS.items() for alias in (name, name[3:], str(int(number)))}
    signal_name = aliases.get(text.upper())
    if signal_name is None:
        raise BadInput(f"signal is invalid: {text[:40]!r}; known: INT, TERM, KILL", field="signal")
    return signal_name


def state_of(task: StoredTask) -> str:
    """Return `pending`, `running` or `finished`."""
    if task.state.has_ended:
        return "finished"
    is_waiting = task.state is TaskState.READY or task.run_state in _WAITING
    return "pending" if is_waiting else "running"


def describe_job(task: StoredTask, project: str) -> dict[str, Any]:
    """Describe a job as `listjobs.json` lists it. `pid` and `log_url` are null: Corral exposes neither."""
    about = {"id": task.task.id, "project": project, "spider": task.task.scraper}
    state = state_of(task)
    if state == "pending":
        args = {name: value for name, value in task.task.document.items() if name not in ABOUT_TASK}
        return {**about, "version": None, "settings": task.task.custom_settings, "args": args}
    items = None if task.run_id is None else f"/jobs/runs/{task.run_id}/export?format=jsonl"
    links = {"log_url": None, "items_url": items, "run_id": task.run_id}
    started = {"start_time": _format_time(task.started_at or task.imported_at)}
    if state == "running":
        return {**about, "pid": None, **started, **links}
    return {**about, **started, "end_time": _format_time(task.ended_at or task.imported_at), **links}


def _format_time(moment: datetime) -> str:
    """Format a time as scrapyd does: local time without a zone."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")
