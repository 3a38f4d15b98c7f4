"""A frontier of any size, worked off for a while in a process of its own: `python -m tests.store.frontier FILE URLS`.

Says as JSON what a page cost it, how large it became, and how the database finds what it looks for.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from corral.domain.crawl.crawl import Bounds, ItemState
from corral.domain.crawl.item import BatchReport, DiscoveredLink, Item, ItemResult
from corral.store.open import open_store
from tests.store.builders import CREATED, ME, a_run

_PAGES = 1_600
_AT_ONCE = 32
_LINKS = 15
_FILL = """
INSERT INTO items (run_id, url_key, url, host, depth, rank, state, attempt, due_at, parent, updated_at)
WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {urls})
SELECT '{run_id}', 'key-' || n, 'http://a.test/' || n, 'a.test', 1, 1.0, 'pending', 1, 0, 1, 0 FROM number
"""


def _link(number: int) -> DiscoveredLink:
    return DiscoveredLink(f"http://a.test/{number}", f"key-{number}", "a.test", 1, None, 1.0)


def _finish(item: Item, number: int, urls: int) -> ItemResult:
    """One link in fifteen is new."""
    known = [_link(1 + (number * 7919 + each) % urls) for each in range(_LINKS - 1)]
    record = {"url": item.url, "text": "word " * 1000}
    return ItemResult(
        item.id, item.key, ItemState.DONE, record=record, found=(*known, _link(urls + 1 + number)), size=10
    )


async def main(path: str, urls: int) -> dict[str, Any]:
    store = open_store(f"sqlite:///{path}")
    run_id, _ = await store.crawls.add(a_run(kind="crawl", max_attempts=1), CREATED, [_link(0)._replace(depth=0)])
    [lease] = await store.runs.claim_one(run_id, ME, 10)
    connection = store._db.connection  # type: ignore[attr-defined]
    connection.execute(_FILL.format(urls=urls, run_id=run_id))
    connection.execute("UPDATE crawls SET pending = pending + ? WHERE run_id = ?", (urls, run_id))
    step = await store.crawls.step(lease, BatchReport((), (), 1), Bounds())
    asked: set[str] = set()
    began = 0.0
    for number in range(0, _PAGES, _AT_ONCE):
        assert step is not None
        ended = [_finish(item, number + place, urls) for place, item in enumerate(step.items)]
        if number == _AT_ONCE:
            began = time.process_time()
        step = await store.crawls.step(lease, BatchReport(tuple(ended), (), _AT_ONCE), Bounds())
    cpu_ms = (time.process_time() - began) * 1000 / (_PAGES - 2 * _AT_ONCE)
    # Of this program alone: what getrusage tells begins with what its parent had.
    [peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    peak_mb = int(peak.split()[1]) / 1024
    assert step is not None
    connection.set_trace_callback(asked.add)
    ended = [_finish(item, 10**6 + place, urls)._replace(is_late=True) for place, item in enumerate(step.items)]
    await store.crawls.step(lease, BatchReport(tuple(ended), (), _AT_ONCE), Bounds())
    connection.set_trace_callback(None)
    spoken = [each for each in asked if each.lstrip().split()[0] in ("SELECT", "UPDATE", "INSERT", "DELETE")]
    plans = {each[:200]: [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {each}")] for each in spoken}
    await store.close()
    return {"cpu_ms": cpu_ms, "peak_mb": peak_mb, "plans": plans}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2])))))  # noqa: T201
