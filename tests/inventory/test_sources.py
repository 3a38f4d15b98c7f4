"""Expected keys and inventories outside of the document: SQL, sitemaps, files by their content, manifests."""

import gzip
import hashlib
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.ports.coverage import HttpAnswer
from corral.inventory.reconcile import reconcile
from corral.inventory.scan import ScanContext
from corral.store.store import Store

_NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
_PAGES = {
    "http://site.test/index.xml": "<sitemapindex><sitemap><loc>http://site.test/a.xml</loc></sitemap></sitemapindex>",
    "http://site.test/a.xml": "<urlset><url><loc>http://site.test/game/7</loc></url>"
    "<url><loc>http://site.test/about</loc></url><url><loc>http://site.test/game/8</loc></url></urlset>",
    "http://site.test/cut.xml": "<urlset><url><loc>http://site.test/game/7</loc></url><url><lo",
}


async def _read(url: str, headers: Mapping[str, str] = {}) -> HttpAnswer:
    page = _PAGES.get(url)
    return HttpAnswer(404, "", b"") if page is None else HttpAnswer(200, "application/xml", page.encode())


async def _report(store: Store, root: Path, **source: Any) -> dict[str, Any]:
    sources = parse_inventory({"sources": {"s": {"scraper": "x", **source}}})
    found = await reconcile(sources, ScanContext(store.coverage, _read, root, {"HIDDEN": "games.db"}), _NOW)
    return {
        **found.report,
        "keys": sorted(gap.key for each in found.results if each.coverage for gap in each.coverage.gaps),
    }


def _folder(pattern: str = "{n}") -> dict[str, Any]:
    return {"folder": {"path": ".", "pattern": pattern}}


async def test_expected_keys_of_a_query_and_an_inventory_of_another(store: Store, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "games.db") as database:
        database.execute("CREATE TABLE games (n INTEGER)")
        database.execute("CREATE TABLE done (n TEXT, bytes INTEGER, at TEXT)")
        database.executemany("INSERT INTO games VALUES (?)", [(1,), (2,), (3,), (4,)])
        rows = [("1", 10, "2026-11-16T11:00:00"), ("2", 0, None), ("3", 10, "2026-11-01 00:00:00+00:00")]
        database.executemany("INSERT INTO done VALUES (?, ?, ?)", rows)
    url = "sqlite:///${HIDDEN}"
    expected = {"sql": {"url": url, "query": "SELECT n FROM games", "columns": ["n"]}}
    columns = ["n", "size", "modified"]
    inventory = {"sql": {"url": url, "query": "SELECT n, bytes, at FROM done", "columns": columns}}
    report = await _report(store, tmp_path, expected=expected, inventory=inventory, rules={"fresh": "24h"})
    assert report["by_type"] == {"missing": 1, "empty": 1, "stale": 1}
    assert report["keys"] == ["2", "3", "4"]


@pytest.mark.parametrize(
    "query, problem",
    [
        ("SELECT 1, 2", "gives 2 columns"),
        ("SELECT NULL", "gives None as n"),
        ("SELECT n FROM nothing", "the query failed"),
        ("DELETE FROM games", "the query failed: attempt to write a readonly database"),
    ],
)
async def test_a_bad_query_is_a_problem_of_its_source(store: Store, tmp_path: Path, query: str, problem: str) -> None:
    with sqlite3.connect(tmp_path / "games.db") as database:
        database.execute("CREATE TABLE games (n INTEGER)")
    expected = {"sql": {"url": "sqlite:///games.db", "query": query, "columns": ["n"]}}
    report = await _report(store, tmp_path, expected=expected, inventory=_folder())
    assert problem in report["problems"][0]
    assert report["tasks"] == 0


async def test_postgresql_is_read_without_the_right_to_write(store: Store, tmp_path: Path, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS wanted_games AS SELECT generate_series(1, 5000) AS n")
    try:
        (tmp_path / "17").write_text("x")
        expected = {"sql": {"url": postgres_url, "query": "SELECT n FROM wanted_games", "columns": ["n"]}}
        report = await _report(store, tmp_path, expected=expected, inventory=_folder())
        assert (report["expected"], report["present"]) == (5000, 1)
        expected["sql"]["query"] = "DELETE FROM wanted_games RETURNING n"
        refused = await _report(store, tmp_path, expected=expected, inventory=_folder())
        assert "the query failed" in refused["problems"][0]
    finally:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("DROP TABLE wanted_games")


async def test_a_sitemap_names_expected_keys_and_a_truncated_one_is_refused(store: Store, tmp_path: Path) -> None:
    def read_expected(name: str) -> dict[str, Any]:
        return {"sitemap": {"url": f"http://site.test/{name}", "pattern": "http://site.test/game/{n}"}}

    (tmp_path / "7").write_text("x")
    report = await _report(store, tmp_path, expected=read_expected("index.xml"), inventory=_folder())
    assert (report["expected"], report["keys"]) == (2, ["8"])
    for name, problem in (("cut.xml", "is truncated"), ("gone.xml", "answers 404")):
        refused = await _report(store, tmp_path, expected=read_expected(name), inventory=_folder())
        assert problem in refused["problems"][0]


@pytest.mark.parametrize(
    "content, good, bad",
    [
        ("json", b'{"a": [1]}', b'{"a": [1'),
        ("json", b'{"a": "' + b"x" * 2**20 + b'"}', b'{"a": "' + b"x" * 2**20),
        ("jsonl", b'{"a": 1}\n{"a": 2}\n', b'{"a": 1}\n{"a": \n'),
        ("gzip", gzip.compress(b"x"), b"<html>"),
        ("parquet", b"PAR1....PAR1", b"PAR1...."),
        ("png", b"\x89PNG\r\n\x1a\n....IEND\xaeB`\x82", b"\x89PNG\r\n\x1a\n...."),
        ("pdf", b"%PDF-1.7", b"not found"),
    ],
)
async def test_content_of_another_format_is_corrupt(
    store: Store, tmp_path: Path, content: str, good: bytes, bad: bytes
) -> None:
    (tmp_path / "1").write_bytes(good)
    (tmp_path / "2").write_bytes(bad)
    report = await _report(
        store, tmp_path, expected={"keys": [1, 2], "dimension": "n"}, inventory=_folder(), rules={"format": content}
    )
    assert (report["by_type"], report["keys"]) == ({"corrupt": 1}, ["2"])


async def test_a_file_that_differs_from_the_manifest_is_corrupt(store: Store, tmp_path: Path) -> None:
    for name in ("1", "2"):
        (tmp_path / name).write_text(name)
    lines = [f"{hashlib.sha256(b'1').hexdigest()}  ./1", f"{hashlib.sha256(b'other').hexdigest()} *2"]
    (tmp_path / "SUMS").write_text("\n".join(lines))
    rules = {"manifest": "SUMS"}
    report = await _report(
        store, tmp_path, expected={"keys": [1, 2], "dimension": "n"}, inventory=_folder(), rules=rules
    )
    assert report["keys"] == ["2"]
