"""A database as version 0018 left it, with runs and a crawl in flight: made by the old migrations and plain inserts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from corral.store import schema
from corral.store.backends import sqlite_file

VERSION = "0018"
OLD_NODE = "old-node"
# Ids in the order of time, as new_id makes them.
QUEUED, RUNNING, CRAWL, HELPER, LATE_HELPER = (f"0190a1b2-0000-7000-8000-00000000000{number}" for number in range(1, 6))
# State, host, helper, and how many items there are of it.
_ITEMS = (
    ("done", "h0.test", 0, 3),
    ("failed", "h0.test", 0, 1),
    ("skipped", "h0.test", 0, 1),
    ("leased", "h0.test", 0, 2),
    ("pending", "h0.test", 0, 6),
    ("deferred", "h0.test", 0, 2),
    ("leased", "h1.test", 1, 2),
    ("pending", "h1.test", 1, 6),
    ("pending", "h2.test", 2, 4),
    ("pending", "h3.test", 0, 5),
)
# All but those that had ended.
UNREAD = sum(count for state, _, _, count in _ITEMS if state in ("leased", "pending", "deferred"))


@contextmanager
def open_engine(url: str) -> Iterator[sa.Engine]:
    if url.startswith("sqlite"):
        connection = sqlite_file.connect(Path(url.removeprefix("sqlite:///")))
        sqlite_file.prepare(connection)
        engine = schema.sqlite_engine(connection)
        try:
            yield engine
        finally:
            connection.close()
        return
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.pool.NullPool)
    yield engine
    engine.dispose()


def make_old_database(url: str) -> None:
    with open_engine(url) as engine:
        schema.upgrade(engine, VERSION)
        with engine.begin() as connection:
            _fill(connection)


def _insert(connection: sa.Connection, table: str, **cells: Any) -> None:
    texts = [_text(cell) for cell in cells.values()]
    connection.exec_driver_sql(f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({', '.join(texts)})")


def _text(cell: Any) -> str:
    if cell is None or isinstance(cell, int | float):
        return "NULL" if cell is None else str(cell)
    return "'{}'".format((cell if isinstance(cell, str) else json.dumps(cell)).replace("'", "''"))


def _insert_run(connection: sa.Connection, run_id: str, kind: str, state: str, **cells: Any) -> None:
    kinds = ["created", "started"] if state == "running" else ["created"]
    held = {"owner": OLD_NODE, "lease_until": 1, "epoch": 1, "started_at": 1} if state == "running" else {}
    plain = {"priority": 2, "attempt": 1, "max_attempts": 3, "requested_strategy": "auto", "resolved_strategy": "http"}
    times = {"due_at": 1, "created_at": 1, "seq": len(kinds)}
    row = {"payload": {"url": "http://h0.test/"}, **plain, **times, **held, **cells}
    _insert(connection, "runs", id=run_id, kind=kind, state=state, **row)
    for seq, event in enumerate(kinds, 1):
        _insert(connection, "events", run_id=run_id, seq=seq, kind=event, meta={}, created_at=1)


def _fill(connection: sa.Connection) -> None:
    _insert_run(connection, QUEUED, "page", "queued", host_key="h9.test")
    _insert_run(connection, RUNNING, "page", "running", host_key="h9.test")
    options = {"url": "http://h0.test/", "crawl": {}}
    _insert_run(connection, CRAWL, "crawl", "running", payload=options, max_attempts=1)
    for number, run_id, state in ((1, HELPER, "running"), (2, LATE_HELPER, "queued")):
        payload = {**options, "share": number, "crawl_started": 0.001, "crawl_run": CRAWL}
        _insert_run(connection, run_id, "share", state, payload=payload, max_attempts=1, parent_id=CRAWL)
    _fill_crawl(connection)
    _fill_rest(connection)


def _fill_crawl(connection: sa.Connection) -> None:
    counts = dict.fromkeys(("pending", "leased", "done", "failed", "skipped", "deferred", "missing"), 0)
    for state, host, share, count in _ITEMS:
        counts[state] += count
        for number in range(count):
            path = f"{host}/{state}/{number}"
            cells = {"depth": 1, "rank": 1.0, "attempt": 1, "due_at": 0, "updated_at": 1, "share": share}
            why = {"deferred": "template_budget", "failed": "network", "skipped": "too_deep"}.get(state)
            row = {"url_key": path, "url": f"http://{path}", "host": host, "state": state, "reason": why, **cells}
            _insert(connection, "items", run_id=CRAWL, **row)
            if state == "done":
                record = {"id": path, "job_id": None, "item_key": path, "data": {"url": path}, "created_at": 1}
                _insert(connection, "records", run_id=CRAWL, **record)
    _insert(connection, "crawls", run_id=CRAWL, epoch=1, size=30, updated_at=1, shared=1, **counts)
    joined = {"at_once": 2, "target": 3, "hungry": 0, "done": 0}
    _insert(connection, "crawl_shares", run_id=CRAWL, number=1, holder=HELPER, epoch=1, **joined)
    waiting = {"at_once": 0, "target": 0, "hungry": 0, "done": 0}
    _insert(connection, "crawl_shares", run_id=CRAWL, number=2, holder=LATE_HELPER, epoch=0, **waiting)
    for place, share, news in (("h1.test", 1, 0), ("h2.test", 2, 2), ("h3.test", 1, 1)):
        _insert(connection, "crawl_pins", run_id=CRAWL, place=place, share=share, news=news)


def _fill_rest(connection: sa.Connection) -> None:
    _insert(connection, "hosts", place="h0.test", failures=2, blocked_until=0, concurrency=3, updated_at=1)
    for owner, turns in ((OLD_NODE, 2), ("other-node", 1)):
        times = {"since": 1, "until": 9_000_000_000_000_000}
        _insert(connection, "host_parts", place="h0.test", owner=owner, turns=turns, wanted=2, has_pause=0, **times)
    about = {"transport": "memory", "queues": "http", "concurrency": 1, "processes": 1, "version": "0.1"}
    times = {"started_at": 1, "seen_at": 1, "stopping": 0}
    _insert(connection, "workers", owner=OLD_NODE, host="old-host", pid=1, role="worker", **about, **times)
    sums = {"weight": 2, "successes": 2, "asked": 4, "found": 3, "cost_ms": 10, "updated_at": 1}
    _insert(connection, "site_memory", host="h0.test", fields_key="k", strategy="http", attempts=2, **sums)
    sealed = {"version": 1, "kid": "k1", "wrapped_key": "w", "box": "b", "about": {}, "created_at": 1, "updated_at": 1}
    _insert(connection, "sessions", id="session-1", job_id="job-1", name="login", **sealed)
    _insert(connection, "kept_runs", run_id=CRAWL, created_at=1)
    _insert(connection, "leftovers", run_id="gone", with_records=1)
    page = {"url": "http://h0.test/b", "asked_url": "http://h0.test/a", "http_status": 200, "headers": "[]"}
    _insert(connection, "pages", run_id=CRAWL, item_key="b", body="", fetched_at=1, **page)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("UPDATE pages SET body = CAST(body AS BLOB)")
