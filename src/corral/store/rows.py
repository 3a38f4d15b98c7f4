"""Conversion between rows and domain values."""

from datetime import UTC, datetime
from typing import Any

import orjson

from corral.domain.cost.budget import Budget
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import CrawlMode, Job, OnTrouble, Priority, Strategy
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.quality.thresholds import USUAL_THRESHOLDS, Thresholds
from corral.domain.runs.code_aliases import current_attempts, current_detail, current_meta, current_stats
from corral.domain.runs.event import Event, EventKind
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.record import Record
from corral.domain.runs.run import KIND_ALIASES, HoldReason, Run, RunState
from corral.store.tx import Row

# The nesting limit of orjson, minus some levels for the documents that contain a value.
_MAX_DEPTH = 200

# A dictionary lookup is several times faster than calling the enumeration.
_STATES = {state.value: state for state in RunState}
_PRIORITIES = {int(priority): priority for priority in Priority}
_STRATEGIES = {strategy.value: strategy for strategy in Strategy}


def at(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)


def maybe_at(millis: int | None) -> datetime | None:
    return None if millis is None else at(millis)


def to_ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def storable(text: str) -> str:
    """Remove characters that the databases refuse in text: NUL, and lone surrogates."""
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def to_json(value: Any) -> str:
    """Return JSON that both databases accept. Values from a page are adapted, so that no result is lost."""
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        encoded = orjson.dumps(_fit(value, _MAX_DEPTH))
    if b"\\u0000" in encoded:
        encoded = orjson.dumps(_fit(value, _MAX_DEPTH))
    return encoded.decode()


def ensure_json(value: Any) -> str:
    """Return the JSON of a value that may be encoded already."""
    if isinstance(value, str) and "\\u0000" not in value:
        return value
    return to_json(orjson.loads(value) if isinstance(value, str) else value)


def _fit(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {storable(str(key)): _fit(each, depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_fit(each, depth - 1) for each in value]
    return storable(str(value))


def from_json(value: Any) -> Any:
    """Return a document as a value: PostgreSQL returns values, SQLite text."""
    return orjson.loads(value) if isinstance(value, str) else value


def run_of(row: Row) -> Run:
    """Return a run. The row is unpacked by position, in column order, because every claim does this."""
    (
        id_, job_id, kind, state, priority, attempt, max_attempts, requested, resolved, payload, epoch, losses, suspect,
        due_at, created_at, hold, owner, lease_until, started_at, finished_at, code, detail, message, stats, attempts,
        retry_of, parent_id, waiting, _, interruptions, host_key, _,
    ) = row  # fmt: skip
    return Run(
        id_, job_id, KIND_ALIASES.get(kind) or kind, _STATES[state], _PRIORITIES[priority], attempt, max_attempts,
        _STRATEGIES[requested], _STRATEGIES[resolved], Payload(from_json(payload)), epoch, losses, suspect, at(due_at),
        at(created_at), current_stats(from_json(stats)), None if hold is None else HoldReason(hold), owner,
        maybe_at(lease_until), maybe_at(started_at), maybe_at(finished_at), code, current_detail(code, detail),
        message, current_attempts(from_json(attempts)), retry_of, parent_id, waiting, interruptions, host_key,
    )  # fmt: skip


def event_of(row: Row) -> Event:
    position, run_id, seq, kind, meta, created_at = row
    return Event(position, run_id, seq, EventKind(kind), current_meta(from_json(meta)), at(created_at))


def record_of(row: Row) -> Record:
    id_, run_id, job_id, item_key, data, created_at, details, row_key, _, verdict = row
    found = from_json(details) or {}
    return Record(id_, run_id, job_id, item_key, from_json(data), at(created_at), found, row_key, verdict)


def job_document(job: Job) -> dict[str, Any]:
    return {
        "target_url": job.target_url,
        "fields": [spec.document() for spec in job.fields],
        "requires_auth": job.requires_auth,
        "strategy": job.strategy.value,
        "priority": int(job.priority),
        "max_attempts": job.max_attempts,
        "timeout_s": job.timeout_s,
        "respect_robots": job.respect_robots,
        "trusted_hosts": list(job.trusted_hosts),
        # Omitted if they have the default: documents are compared with those of older versions.
        **({"proxy": job.proxy.document()} if job.proxy else {}),
        **({} if job.verify_tls else {"verify_tls": False}),
        **({} if job.crawl_mode is CrawlMode.SINGLE else {"crawl_mode": job.crawl_mode.value}),
        **({} if job.list_config is None else {"list_config": job.list_config}),
        **({} if job.on_captcha is OnTrouble.FAIL else {"on_captcha": job.on_captcha.value}),
        **({} if job.on_missing is OnTrouble.FAIL else {"on_missing": job.on_missing.value}),
        **({"record_key": list(job.record_key)} if job.record_key else {}),
        **({} if job.budget.is_empty else {"budget": job.budget.document()}),
        **({} if job.quality == USUAL_THRESHOLDS else {"quality": job.quality.document()}),
    }


def job_of(id_: str, document: Any, frequency: str, created_at: int) -> Job:
    cell = from_json(document)
    return Job(
        id=JobId(id_),
        target_url=cell["target_url"],
        fields=tuple(FieldSpec.of(spec) for spec in cell["fields"]),
        created_at=at(created_at),
        requires_auth=cell["requires_auth"],
        frequency=frequency,
        strategy=Strategy(cell["strategy"]),
        priority=Priority(cell["priority"]),
        max_attempts=cell["max_attempts"],
        timeout_s=cell["timeout_s"],
        respect_robots=cell["respect_robots"],
        trusted_hosts=tuple(cell["trusted_hosts"]),
        proxy=ProxyPolicy.of(cell["proxy"]) if cell.get("proxy") else None,
        verify_tls=cell.get("verify_tls", True),
        crawl_mode=CrawlMode(cell.get("crawl_mode", CrawlMode.SINGLE)),
        list_config=cell.get("list_config"),
        on_captcha=OnTrouble(cell.get("on_captcha", OnTrouble.FAIL)),
        on_missing=OnTrouble(cell.get("on_missing", OnTrouble.FAIL)),
        record_key=tuple(cell.get("record_key") or ()),
        quality=Thresholds.of(cell.get("quality") or {}),
        budget=Budget.of(cell.get("budget")),
    )
