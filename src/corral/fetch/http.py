"""Plain HTTP: one page fetched, read and turned into a record."""

import json
import time
from typing import Any

from corral.domain.classify import failure_of_status
from corral.domain.errors import BadInput
from corral.domain.job import FieldSpec
from corral.domain.outcome import Failed, Fetched, Outcome, Task
from corral.domain.url import parse_target
from corral.extract.charset import decode
from corral.extract.fields import Extraction, extract_from
from corral.extract.page import MAX_VALUE_CHARS, Page, is_too_deep
from corral.extract.structured import plain
from corral.extract.values import storable
from corral.extract.verdict import Answer, merged
from corral.fetch.egress import Egress
from corral.fetch.faults import fault
from corral.fetch.response import Response
from corral.fetch.robots import Robots
from corral.fetch.verdict import failure_behind

_MARKUP = ("html", "xml")
_MAX_SHOWN_CHARS = 500


class HttpExecutor:
    def __init__(self, egress: Egress, robots: Robots) -> None:
        self._egress = egress
        self._robots = robots

    async def execute(self, task: Task) -> Outcome:
        ends_at = time.monotonic() + task.timeout_s
        payload = task.payload
        trusted_hosts = frozenset(payload.get("trusted_hosts") or ())
        try:
            target = parse_target(payload["url"])
        except BadInput as problem:
            return fault("policy:url", problem.message)
        if payload.get("respect_robots", True):
            refusal = await self._robots.refusal(target, trusted_hosts=trusted_hosts, budget_s=task.timeout_s)
            if refusal is not None:
                return refusal
        answer = await self._egress.fetch(
            target.url, timeout_s=max(0.0, ends_at - time.monotonic()), trusted_hosts=trusted_hosts
        )
        if isinstance(answer, Failed):
            return answer
        return _outcome_of(answer, fields_of(payload))


def fields_of(payload: dict[str, Any]) -> tuple[FieldSpec, ...]:
    return tuple(
        FieldSpec(item["name"], item.get("css"), item.get("attr"), bool(item.get("all", False)))
        for item in payload.get("fields") or ()
    )


def _outcome_of(answer: Response, fields: tuple[FieldSpec, ...]) -> Outcome:
    content_type = (answer.header("content-type") or "").split(";")[0].strip().lower()[:_MAX_SHOWN_CHARS]
    stats: dict[str, Any] = {
        "http_status": answer.status,
        "content_type": content_type or None,
        "content_length": len(answer.body),
        "title": None,
        "final_url": answer.url,
        "redirects": len(answer.chain),
        "bytes": answer.raw_bytes,
        "cost": 1 + len(answer.chain),
        "timings": answer.timings,
    }
    started = time.monotonic()
    failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"), stats=stats)
    if not is_text(content_type, answer.body):
        return failure or Fetched(stats, *_unreadable(fields))
    decoded = decode(answer.body, answer.header("content-type"))
    stats |= {"encoding": decoded.encoding, "replacements": decoded.replacements}
    extraction = _read(decoded.text, content_type, answer.url, fields, stats)
    stats["timings"] = {**answer.timings, "parse_ms": round((time.monotonic() - started) * 1000)}
    if isinstance(extraction, Failed):
        return extraction
    asked_url = answer.chain[0] if answer.chain else answer.url
    headers = merged(answer.headers)
    page = Answer(answer.status, headers, content_type, answer.url, asked_url, decoded.text, stats["title"])
    failure = failure_behind(page, extraction.missing, stats)
    return failure or Fetched(stats, (extraction.record,), extraction.missing)


def is_text(content_type: str, body: bytes) -> bool:
    """By the declared type; without one, by the absence of NUL bytes near the start."""
    if not content_type:
        return b"\0" not in body[:1024]
    kinds = ("text/", "html", "xml", "json", "javascript")
    return any(kind in content_type for kind in kinds)


def _unreadable(fields: tuple[FieldSpec, ...]) -> tuple[tuple[dict[str, Any], ...], tuple[str, ...]]:
    record: dict[str, Any] = {spec.name: [] if spec.all else None for spec in fields}
    return (record,), tuple(record)


def _read(
    text: str, content_type: str, url: str, fields: tuple[FieldSpec, ...], stats: dict[str, Any]
) -> Extraction | Failed:
    if "json" in content_type:
        return _from_json(text, fields)
    is_markup = not content_type or any(kind in content_type for kind in _MARKUP)
    if not is_markup:
        return _from_text(text, fields)
    if is_too_deep(text):
        return fault("limit:parse", **stats)
    page = Page(text, url)
    stats["title"] = page.title[:_MAX_SHOWN_CHARS] if page.title else None
    return extract_from(page, fields)


def _from_json(text: str, fields: tuple[FieldSpec, ...]) -> Extraction:
    """Bare names are looked up among the keys of the outermost object."""
    try:
        document = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        document = None
    keys = {plain(key): value for key, value in document.items()} if isinstance(document, dict) else {}
    record = {spec.name: None if spec.css else storable(keys.get(plain(spec.name))) for spec in fields}
    return _judged(record)


def _from_text(text: str, fields: tuple[FieldSpec, ...]) -> Extraction:
    """A plain text has no fields but itself."""
    whole = text[:MAX_VALUE_CHARS].strip()
    record: dict[str, Any] = {
        spec.name: whole if not spec.css and plain(spec.name) in ("text", "content", "body") else None
        for spec in fields
    }
    return _judged(record)


def _judged(record: dict[str, Any]) -> Extraction:
    return Extraction(record, tuple(name for name, value in record.items() if value in (None, "", [], {})))
