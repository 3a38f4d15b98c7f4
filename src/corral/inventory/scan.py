"""Read one source: the entries of its inventory, and the values of its expected keys."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from corral.domain.coverage.compare import Comparison
from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.expand import expand_keys, reorder
from corral.domain.coverage.gap import Entry
from corral.domain.coverage.spec import (
    ExpectedKeys,
    FolderInventory,
    ListedKeys,
    ProductKeys,
    RecordRows,
    S3Inventory,
    SitemapKeys,
    SourceSpec,
    SqlRows,
)
from corral.domain.coverage.values import Value
from corral.domain.ports.coverage import CoverageStore, HttpReader
from corral.inventory import sql
from corral.inventory.folder import read_manifest, scan_folder
from corral.inventory.s3 import list_bucket
from corral.inventory.sitemap import read_sitemap_keys
from corral.inventory.variables import fill_variables

Rows = Iterable[tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class ScanContext:
    """The store, the network, the environment, and the folder that relative paths start from."""

    store: CoverageStore
    read: HttpReader
    root: Path
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)


async def add_inventory(comparison: Comparison, source: SourceSpec, context: ScanContext) -> None:
    """Add every entry of the inventory to the comparison. Files and queries are read in a thread."""
    inventory, names = source.inventory, source.names
    match inventory:
        case FolderInventory():
            entries = scan_folder(inventory, names, source.rules, context.root)
            await asyncio.to_thread(comparison.add, entries)
        case SqlRows():
            rows = _query(inventory, context)
            entries = (sql.entry_of(row, inventory.columns, names) for row in rows)
            await asyncio.to_thread(comparison.add, entries)
        case S3Inventory():
            manifest = source.rules.manifest
            checksums = None if manifest is None else read_manifest(context.root / manifest)
            async for page in list_bucket(inventory, names, context.read, context.environment, checksums=checksums):
                comparison.add(page)
        case RecordRows():
            async for page in _record_pages(inventory, names, context.store):
                comparison.add(page)


async def read_expected(source: SourceSpec, context: ScanContext, today: date) -> Rows:
    """Return the values of every expected key. Keys that the document itself defines are generated lazily."""
    parts = [await _read_part(keys, source.names, context, today) for keys in source.expected]
    return itertools.chain.from_iterable(parts)


async def _read_part(keys: ExpectedKeys, names: Sequence[str], context: ScanContext, today: date) -> Rows:
    match keys:
        case ProductKeys() | ListedKeys():
            return expand_keys(keys, names, today)
        case SitemapKeys():
            return await read_sitemap_keys(keys, names, context.read)
        case SqlRows():
            rows = _query(keys, context)
            return await asyncio.to_thread(lambda: [sql.key_values(row, keys.columns, names) for row in rows])
        case RecordRows():
            return [entry.values async for page in _record_pages(keys, names, context.store) for entry in page]
        case _:
            raise InventoryUnreadable(f"cannot read expected keys of type {type(keys).__name__}")


def _query(rows: SqlRows, context: ScanContext) -> Iterable[tuple[object, ...]]:
    url = fill_variables(rows.url, context.environment)
    return sql.read_rows(url, rows.query, rows.columns, context.root)


async def _record_pages(rows: RecordRows, names: Sequence[str], store: CoverageStore) -> AsyncIterator[list[Entry]]:
    after = ""
    while True:
        page = await store.record_page(rows, after)
        values = reorder((entry.values for entry in page.entries), list(rows.fields), names)
        yield [entry._replace(values=each) for entry, each in zip(page.entries, values, strict=True)]
        if page.next_after is None:
            return
        after = page.next_after
