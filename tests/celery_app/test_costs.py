"""What one run costs PostgreSQL and Redis is what docs/scale.md says: its table is read here, and measured."""

import re
import time
from typing import Any

import httpx
import psycopg
import redis

from tests.chaos.report import report
from tests.services import RedisServer
from tests.shape.files import ROOT
from tests.stack import Stack

RUNS = 200
_RUNS_BEFORE = 20
_ROW = re.compile(r"^\| `(\w+)` \| ([\d.,]+) \|", re.MULTILINE)


def model() -> dict[str, float]:
    text = (ROOT / "docs/scale.md").read_text()
    return {name: float(value.replace(",", "")) for name, value in _ROW.findall(text)}


def test_a_run_costs_what_the_model_says(stack: Stack, redis_server: RedisServer) -> None:
    url = stack.environment["APP_DATABASE_URL"]
    job = stack.job()
    # After a checkpoint, PostgreSQL logs a page as a whole when it is first changed: not a cost of these runs.
    _work(stack, job, _RUNS_BEFORE)
    time.sleep(2)
    idle = _difference(url, redis_server, lambda: time.sleep(5))
    busy_s = time.monotonic()
    busy = _difference(url, redis_server, lambda: _work(stack, job, RUNS))
    busy_s = time.monotonic() - busy_s
    connections = _connections(url)
    measured = {
        name: (busy[name] - idle[name] / 5 * busy_s) / RUNS
        for name in ("messages", "rows_written", "wal_bytes", "redis_bytes", "redis_commands")
    }
    measured["connections"] = connections
    report("costs of a run: " + ", ".join(f"{name} {value:.1f}" for name, value in measured.items()))
    told = model()
    assert told.keys() >= measured.keys(), "every figure has its line in docs/scale.md"
    assert measured["connections"] <= told["connections"], "two writers and four readers of a process, at most"
    for name, value in measured.items():
        tolerance = 0.5 if name.endswith("bytes") else 0.35
        assert abs(value - told[name]) <= tolerance * told[name] + 0.3, f"{name}: {value:.2f}, docs say {told[name]}"


def _work(stack: Stack, job: dict[str, Any], count: int) -> None:
    ids = [stack.start(job)["id"] for _ in range(count)]
    for run_id in ids:
        assert stack.wait_for_end(run_id)["status"] == "completed"


def _difference(url: str, broker: RedisServer, work: Any) -> dict[str, float]:
    before = _figures(url, broker)
    work()
    time.sleep(2)  # PostgreSQL tells of what was written a moment later
    after = _figures(url, broker)
    return {name: after[name] - before[name] for name in after}


def _figures(url: str, broker: RedisServer) -> dict[str, float]:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone()
        rows = connection.execute(
            "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables "
            "WHERE relname NOT IN ('workers')"
        ).fetchone()
    assert row is not None
    assert rows is not None
    with redis.from_url(broker.url(3)) as client:
        stats: Any = client.info("stats")
        commands: Any = client.info("commandstats")
    pushed = commands.get("cmdstat_lpush", {}).get("calls", 0)
    return {
        "messages": float(pushed),
        "rows_written": float(rows[0]),
        "wal_bytes": float(row[0]),
        "redis_bytes": float(stats["total_net_input_bytes"] + stats["total_net_output_bytes"]),
        "redis_commands": float(stats["total_commands_processed"]),
    }


def _connections(url: str) -> float:
    """Of one API and one worker together: those that stay open.

    PostgreSQL lists its autovacuum workers, too, and while it is slow, a connection that checks whether it answers.
    """
    database = httpx.URL(url).path.strip("/")
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend' "
            "AND backend_start < now() - interval '1 second'",
            (database,),
        ).fetchone()
    assert row is not None
    return float(row[0])
