"""From a real store: in order, in pieces that fit into memory, however many records there are and however large."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from corral.domain.runs.record import CRAWL_FIELDS
from corral.export.formats import Format
from corral.export.stream import Export, ExportProgress, chunks
from corral.store.open import open_store
from corral.store.store import Store
from tests.chaos.level import LEVEL, by_level
from tests.chaos.report import LINES
from tests.export import reading
from tests.export.fill import document, fill_crawl
from tests.shape.files import ROOT

RECORD_FORMATS = [Format.JSON, Format.JSONL, Format.CSV, Format.XLSX, Format.PARQUET]
WORDS = ("it was a dark and stormy night " * 33)[:1000]


async def export_chunks(store: Store, run_id: str, kind: Format, progress: ExportProgress | None = None) -> list[bytes]:
    return [chunk async for chunk in chunks(store, Export(await store.runs.get(run_id), kind), progress)]


def read(kind: Format, data: bytes) -> list[dict[str, Any]]:
    if kind is Format.XLSX:
        [head, *rows] = reading.xlsx(data)["records"]
        return [dict(zip(head, row, strict=True)) for row in rows]
    if kind is Format.CSV:
        return [dict(row) for row in reading.from_csv(data)]
    if kind is Format.PARQUET:
        return reading.parquet(data)
    return list(json.loads(data)) if kind is Format.JSON else reading.jsonl(data)


Opened = Callable[..., Awaitable[tuple[Store, str]]]


@pytest.fixture
async def open_filled(shared_url: str) -> AsyncIterator[Opened]:
    """A store with a run that has so many records."""
    stores: list[Store] = []

    async def open_with(count: int, chars: int = 1000) -> tuple[Store, str]:
        run_id = await asyncio.to_thread(fill_crawl, shared_url, count, chars)
        stores.append(open_store(shared_url))
        return stores[-1], run_id

    yield open_with
    for store in stores:
        await store.close()


async def test_every_format_has_every_record_in_the_order_it_was_found(open_filled: Opened) -> None:
    store, run_id = await open_filled(700)
    for kind in RECORD_FORMATS:
        progress = ExportProgress()
        pieces = await export_chunks(store, run_id, kind, progress)
        found = read(kind, b"".join(pieces))
        assert (len(found), progress.written) == (700, 700)
        assert [int(each["n"]) for each in found] == list(range(700))
        assert {name: found[7][name] for name in ("url", "title", "text")} == {
            name: document(7, WORDS)[name] for name in ("url", "title", "text")
        }
        if kind.needs_columns:
            has = document(7, WORDS)
            assert list(found[0]) == [*(name for name in CRAWL_FIELDS if name in has), "n"]
            assert progress.seen == 700
        assert progress.size == sum(map(len, pieces))


async def test_large_records_are_read_a_few_at_a_time(open_filled: Opened) -> None:
    store, run_id = await open_filled(40, 500_000)
    sizes, after = [], ""
    while batch := await store.records.next_batch(run_id, after):
        after = batch[-1].id
        sizes.append(len(batch))
    assert sum(sizes) == 40
    # PostgreSQL counts them as it keeps them: compressed.
    assert max(sizes) <= (40 if store._db.is_postgres else 2)
    store, run_id = await open_filled(1, 5_000_000)
    assert len(await store.records.next_batch(run_id, "")) == 1


async def test_a_run_without_records_makes_an_empty_file_with_its_columns(open_filled: Opened) -> None:
    store, run_id = await open_filled(1)
    [record] = await store.records.next_batch(run_id, "")
    await store.records.delete(record.id)
    assert (await export_chunks(store, run_id, Format.CSV))[0].decode() == ",".join(CRAWL_FIELDS) + "\r\n"
    assert reading.parquet(b"".join(await export_chunks(store, run_id, Format.PARQUET))) == []
    assert reading.xlsx(b"".join(await export_chunks(store, run_id, Format.XLSX)))["records"] == [[*CRAWL_FIELDS]]


async def test_an_export_nobody_reads_to_the_end_is_closed(open_filled: Opened) -> None:
    store, run_id = await open_filled(700)
    for kind in RECORD_FORMATS:
        reader = chunks(store, Export(await store.runs.get(run_id), kind))
        assert await anext(reader)
        await reader.aclose()  # type: ignore[attr-defined]


@pytest.mark.timeout(by_level(120, 3600))
@pytest.mark.parametrize("shared_url", ("file", "postgres") if LEVEL else ("file",), indirect=True)
def test_memory_does_not_grow_with_the_number_of_records(shared_url: str) -> None:
    """A few are exported first, in every format, so that everything is loaded that is needed once."""
    count = by_level(20_000, 1_000_000)
    small, large = fill_crawl(shared_url, 400, 1500), fill_crawl(shared_url, count, 1500)
    command = [sys.executable, str(ROOT / "tests/export/exporting.py"), shared_url, small, large, *RECORD_FORMATS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=by_level(100, 3000), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    before, after = told[: len(RECORD_FORMATS)], told[len(RECORD_FORMATS) :]
    assert [each["written"] for each in after] == [count] * len(RECORD_FORMATS)
    grown = {each["kind"]: round(each["peak_mib"] - before[-1]["peak_mib"]) for each in after}
    LINES.append(f"exports: {count:,} records from {shared_url.partition(':')[0]}, memory grown by {grown} MiB")
    # Held in memory, even the records of the short version would be more than twice as much. A group of rows of
    # Parquet is held in several forms at once.
    assert max(more for kind, more in grown.items() if kind != Format.PARQUET) < 30, grown
    assert grown[Format.PARQUET] < 110, grown
