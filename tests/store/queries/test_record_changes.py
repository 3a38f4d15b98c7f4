"""Rows of two runs are compared in batches, on both databases."""

from typing import Any

import orjson

from corral.domain.crawl.item import BatchReport
from corral.domain.records.changes import ChangedRow, RowChange, RunComparison
from corral.domain.runs.run import CRAWL
from corral.store.queries import record_changes
from corral.store.store import Store
from tests.export.fill import PLAN
from tests.store.builders import CREATED, a_job, a_run
from tests.store.conftest import Sql
from tests.store.queries.crawl.builders import ask, claim_run, done, first, url

KEY = ("sku",)


async def _crawl(store: Store, job_id: str, records: list[dict[str, Any]], *, twice: bool = False) -> str:
    plan = {**PLAN, "fields": [{"name": "sku"}], "record_key": ["sku"]}
    run = a_run(job_id, kind=CRAWL, max_attempts=1, payload={"url": "http://a.test/", "crawl": plan})
    run_id, _ = await store.crawls.add(run, CREATED, [url(number) for number in range(len(records))])
    lease = await claim_run(store, run_id)
    taken = (await first(store, lease, want=len(records))).items
    results = tuple(done(item, record=records[int(item.key[4:])]) for item in taken)
    for _ in range(2 if twice else 1):
        await ask(store, lease, BatchReport(results, (), 0), record_key=KEY)
    await ask(store, lease, BatchReport((), (), 0, is_last=True), record_key=KEY)
    return run_id


async def _job(store: Store) -> str:
    job = a_job()
    await store.jobs.add(job, None)
    return job.id


async def _list(store: Store, comparison: RunComparison, *kinds: RowChange) -> list[ChangedRow]:
    rows: list[ChangedRow] = []
    cursor: str | None = None
    while True:
        page = await store.records.next_changes(comparison, kinds, cursor)
        rows += page.rows
        cursor = page.cursor
        if cursor is None:
            return rows


async def test_a_batch_that_is_reported_twice_brings_its_rows_once(store: Store, sql: Sql) -> None:
    records = [{"sku": f"s{number}", "n": number} for number in range(4)]
    run_id = await _crawl(store, await _job(store), records, twice=True)
    rows = sql(f"SELECT row_key FROM records WHERE run_id = '{run_id}' ORDER BY row_key")
    assert [key for (key,) in rows] == ["s0", "s1", "s2", "s3"]


async def test_rows_that_share_a_key_are_identified_by_their_page_whichever_came_first(store: Store) -> None:
    job_id = await _job(store)
    records: list[dict[str, Any]] = [{"sku": "a", "n": 0}, {"sku": "a", "n": 1}, {"n": 2}, {"sku": "b", "n": 3}]
    before = await _crawl(store, job_id, records)
    after = await _crawl(store, job_id, records)
    assert await store.crawls.count_row_keys(after, KEY) == {"duplicates": 2, "missing": 1, "examples": ["a"]}
    counts = await store.records.count_changes(RunComparison(after, before, True))
    assert counts == {**dict.fromkeys(RowChange, 0), RowChange.UNCHANGED: 4}


async def test_many_rows_are_compared_in_several_batches(store: Store, sql: Sql, monkeypatch: Any) -> None:
    job_id = await _job(store)
    before = await _crawl(store, job_id, [{"sku": f"s{number}", "n": number} for number in range(40)])
    later = [{"sku": f"s{number}", "n": number if number % 4 else -number} for number in range(1, 41)]
    after = await _crawl(store, job_id, later)
    comparison = RunComparison(after, before, True)
    monkeypatch.setattr(record_changes, "MAX_CHANGES", 3)
    monkeypatch.setattr(record_changes, "_MAX_BYTES", 40)
    counts = await store.records.count_changes(comparison)
    assert {kind.value: number for kind, number in counts.items() if number} == {
        "new": 1,
        "changed": 9,
        "unchanged": 30,
        "gone": 1,
    }
    rows = await _list(store, comparison, *RowChange)
    assert {kind: sum(row.change is kind for row in rows) for kind in RowChange} == counts
    assert len({row.key for row in rows}) == 41
    # Rows that an older version wrote have no digest.
    sql(f"UPDATE records SET digest = NULL WHERE run_id = '{before}' RETURNING id")
    assert await store.records.count_changes(comparison) == counts
    [row] = await _list(store, comparison, RowChange.GONE)
    assert (row.key, row.data) == ("s0", {"sku": "s0", "n": 0})


async def test_a_row_too_large_for_a_batch_is_listed(store: Store, monkeypatch: Any) -> None:
    job_id = await _job(store)
    before = await _crawl(store, job_id, [{"sku": "a", "text": "x" * 5000}, {"sku": "b", "text": "x" * 5000}])
    after = await _crawl(store, job_id, [{"sku": "a", "text": "y" * 5000}, {"sku": "b", "text": "y" * 5000}])
    monkeypatch.setattr(record_changes, "_MAX_BYTES", 100)
    rows = await _list(store, RunComparison(after, before, True), RowChange.CHANGED)
    assert [orjson.dumps(row.data)[-2:] for row in rows] == [b'"}', b'"}']
    assert rows[0].fields["text"]["before"][0] == "x"
