"""Codes that earlier versions stored under other names, translated to the current ones."""

from typing import Any

EVENT_KINDS = {"host_waits": "host_deferred", "robots_cut": "robots_truncated"}
STATS = {"robots_cut": "robots_truncated"}
# By failure code: the same detail may mean something else with another code.
_DETAILS = {("timeout", "gap"): "read", ("blocked", "session_dead"): "session_expired"}


def current_detail(code: str | None, detail: str | None) -> str | None:
    return detail if detail is None else _DETAILS.get((code or "", detail), detail)


def current_reason(reason: str | None) -> str | None:
    """Return the current name of the reason of a crawled page, which is `code:detail`."""
    code, colon, detail = (reason or "").partition(":")
    return f"{code}:{current_detail(code, detail)}" if colon else reason


def current_attempts(attempts: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {**entry, "detail": current_detail(entry.get("outcome"), entry["detail"])} if entry.get("detail") else entry
        for entry in attempts
    )


def current_meta(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the details of an event with current names."""
    detail = meta.get("failure_detail")
    return meta if detail is None else {**meta, "failure_detail": current_detail(meta.get("failure_code"), detail)}


def current_stats(stats: dict[str, Any]) -> dict[str, Any]:
    if STATS.keys().isdisjoint(stats):
        return stats
    return {STATS.get(name, name): value for name, value in stats.items()}
