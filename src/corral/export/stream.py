"""Stream an export from the store, a piece at a time. A slow reader slows the export down; nothing accumulates."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from corral.domain.crawl.page_archive import ArchivedPage
from corral.domain.crawl.payload import plan_of
from corral.domain.errors import BadInput, DataWithheld, PagesNotKept
from corral.domain.fields.own_code import without_parser
from corral.domain.records.changes import CHANGES, ChangedRow, RowChange, RunComparison
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.record import CRAWL_FIELDS, Record
from corral.domain.runs.run import CRAWL, Run
from corral.domain.verdicts.run_verdict import VERDICT, is_withheld
from corral.export.columns import Columns
from corral.export.formats import Format
from corral.export.outbox import Outbox, Writer
from corral.export.text import CsvWriter, JsonLinesWriter, JsonWriter

T = TypeVar("T")

# The column with the kind of change, in an export of changes.
CHANGE_COLUMN = "_change"
# Smaller pieces are sent together with the next one.
_MIN_CHUNK_BYTES = 64 * 1024


class _ChangePage(Protocol):
    @property
    def rows(self) -> list[ChangedRow]: ...
    @property
    def cursor(self) -> str | None: ...


class _Records(Protocol):
    async def next_batch(self, run_id: str, after: str) -> list[Record]: ...
    async def next_changes(
        self, comparison: RunComparison, kinds: Collection[RowChange], cursor: str | None
    ) -> _ChangePage: ...


class _Pages(Protocol):
    async def next_batch(self, run_id: str, after: int) -> list[ArchivedPage]: ...


class ExportStore(Protocol):
    """Reads the records and pages of a run in batches that fit into memory; an empty batch is the end."""

    @property
    def records(self) -> _Records: ...
    @property
    def pages(self) -> _Pages: ...


@dataclass(slots=True)
class ExportProgress:
    """How far an export is: records scanned for columns, records written, bytes written."""

    seen: int = 0
    written: int = 0
    size: int = 0  # bytes


@dataclass(frozen=True, slots=True)
class Export:
    run: Run
    format: Format
    packs: bool = True  # compress each record of a WARC file with gzip
    changes: RunComparison | None = None  # only the rows that changed since an earlier run
    with_withheld: bool = False  # also export records that the verdict on the data withholds

    def check(self) -> None:
        """Raise DataWithheld, BadInput or PagesNotKept if this run cannot be exported in this format."""
        if is_withheld(self.run.stats) and not self.with_withheld:
            raise DataWithheld(self.run.id, self.run.stats[VERDICT])
        if self.format is Format.WARC and self.changes is not None:
            hint = "choose json, jsonl, csv, parquet or xlsx"
            raise BadInput("a WARC archive contains pages, not changed rows", field="format", hint=hint)
        has_pages = self.run.kind == CRAWL and plan_of(self.run.payload).keep_pages
        if self.format is Format.WARC and not has_pages:
            raise PagesNotKept(self.run.id)


async def chunks(store: ExportStore, export: Export, progress: ExportProgress | None = None) -> AsyncIterator[bytes]:
    """Yield the file from front to back. Records added meanwhile may or may not be included."""
    export.check()
    progress = progress or ExportProgress()
    out = Outbox()
    if export.format is Format.WARC:
        from corral.export.warc import WarcWriter  # noqa: PLC0415 - only for this format

        feed: AsyncIterator[Sequence[Any]] = _pages(store, export.run.id)
        writer: Any = WarcWriter(out, export.run, packs=export.packs)
    else:
        columns = await _columns(store, export, progress)
        writer = await _run_in_thread(writer_for, export.format, out, columns)
        feed = _data(store, export)
    try:
        async for batch in feed:
            progress.written += await _run_in_thread(writer.add, batch)
            progress.size = out.tell()
            if out.size >= _MIN_CHUNK_BYTES:
                yield out.take()
    except BaseException:
        # The reader is gone: close what the writer has open.
        with contextlib.suppress(Exception):
            writer.end()
        raise
    await _run_in_thread(writer.end)
    progress.size = out.tell()
    yield out.take()


def columns_of(run: Run, *, has_changes: bool = False) -> Columns:
    """Return the columns with the requested fields in their order; for a crawl, after its usual columns."""
    first = (CHANGE_COLUMN,) if has_changes else ()
    if run.kind != CRAWL:
        names = [spec.name for spec in without_parser(run.payload.read(PagePayload).fields)]
        return Columns(names, first)
    plan = plan_of(run.payload)
    return Columns(plan.field_names, (*first, *(("url",) if plan.only_fields else CRAWL_FIELDS)))


def writer_for(kind: Format, out: Outbox, columns: Columns) -> Writer:
    """Return a writer of the format. Parquet and XLSX are imported on first use, because they load slowly."""
    if kind is Format.PARQUET:
        from corral.export.parquet import ParquetWriter  # noqa: PLC0415

        return ParquetWriter(out, columns)
    if kind is Format.XLSX:
        from corral.export.xlsx import XlsxWriter  # noqa: PLC0415

        return XlsxWriter(out, columns)
    if kind is Format.CSV:
        return CsvWriter(out, columns)
    return JsonWriter(out) if kind is Format.JSON else JsonLinesWriter(out)


async def _columns(store: ExportStore, export: Export, progress: ExportProgress) -> Columns:
    columns = columns_of(export.run, has_changes=export.changes is not None)
    if export.format.needs_columns:
        async for batch in _data(store, export):
            await _run_in_thread(columns.scan, batch)
            progress.seen = columns.records
    return columns


async def _data(store: ExportStore, export: Export) -> AsyncIterator[list[dict[str, Any]]]:
    if export.changes is not None:
        async for rows in _changes(store, export.changes):
            yield rows
        return
    after = ""
    while batch := await store.records.next_batch(export.run.id, after):
        after = batch[-1].id
        yield [record.data for record in batch]


async def _changes(store: ExportStore, comparison: RunComparison) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield new and changed rows with their current data, then gone rows with their last data."""
    cursor: str | None = None
    while True:
        page = await store.records.next_changes(comparison, CHANGES, cursor)
        if page.rows:
            yield [{CHANGE_COLUMN: None, **row.data} | {CHANGE_COLUMN: row.change.value} for row in page.rows]
        cursor = page.cursor
        if cursor is None:
            return


async def _pages(store: ExportStore, run_id: str) -> AsyncIterator[list[ArchivedPage]]:
    after = 0
    while batch := await store.pages.next_batch(run_id, after):
        after = batch[-1].id
        yield batch


async def _run_in_thread(work: Callable[..., T], *args: Any) -> T:
    """Run the work in a thread. If cancelled, wait until the thread has ended: it still uses the writer."""
    future = asyncio.ensure_future(asyncio.to_thread(work, *args))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        raise
