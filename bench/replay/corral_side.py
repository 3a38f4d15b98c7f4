"""Corral, embedded, on the demo shop in a process of its own; every record is compared with what the shop sells."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx

from bench.model import Place, Result
from bench.probe import stop, wait_until
from bench.services import free_port
from corral.demo.content import PRODUCT_COUNT, products
from corral.domain.event import EventDraft
from corral.domain.ids import JobId, RunId, new_id
from corral.domain.job import FieldSpec, Job, Strategy
from corral.domain.record import RecordFilter
from corral.domain.run import NewRun
from corral.settings import load_settings
from corral.wiring import App, opened

_BULK = 200
_FIELDS = (FieldSpec("name"), FieldSpec("price"), FieldSpec("description"))


class _Shop:
    name = ""
    strategy = Strategy.HTTP

    def __init__(self, place: Place) -> None:
        self._data = place.folder / "var"

    async def measure(self, count: int) -> Result:
        settings = load_settings(data_dir=self._data, egress_allow="127.0.0.1/32:*")
        with _demo_shop(self._data.parent) as site:
            async with opened(settings, works=True) as app:
                await _finished(app, [await _drafted(app, site, number, Strategy.BROWSER) for number in (1, 2, 3, 4)])
                drafts = [await _drafted(app, site, number, self.strategy) for number in range(1, PRODUCT_COUNT + 1)]
                runs = [_copied(*drafts[number % PRODUCT_COUNT]) for number in range(count)]
                began = time.perf_counter()
                await _finished(app, runs)
                took_s = time.perf_counter() - began
                await _check(app, runs)
        workers = f"{settings.workers} workers, {settings.concurrency} at once each"
        if self.strategy is Strategy.BROWSER:
            workers = f"{settings.workers} workers, {settings.browser_concurrency} pages at once each"
        return Result(count / took_s, count, took_s, workers)


class Replay(_Shop):
    name = "by API replay"
    strategy = Strategy.API_REPLAY


class Browser(_Shop):
    name = "by browser"
    strategy = Strategy.BROWSER


Drafted = tuple[NewRun, list[EventDraft]]


async def _drafted(app: App, site: str, number: int, strategy: Strategy) -> Drafted:
    url = f"{site}/shop/{number}"
    return await app.submitter.drafted(Job(JobId(new_id()), url, _FIELDS, datetime.now(UTC), strategy=strategy))


def _copied(run: NewRun, drafts: list[EventDraft]) -> Drafted:
    """The same page again. What the submission costs is measured elsewhere."""
    made = {name: getattr(run, name) for name in NewRun.__slots__}
    return NewRun(**{**made, "id": RunId(new_id())}), drafts


async def _finished(app: App, runs: list[Drafted]) -> None:
    for start in range(0, len(runs), _BULK):
        await app.store.add_runs(runs[start : start + _BULK])
        assert app.node is not None
        app.node.look()
    while any((await app.store.count_live()).values()):  # noqa: ASYNC110 - the database is asked, nobody tells
        await asyncio.sleep(0.01)


async def _check(app: App, runs: list[Drafted]) -> None:
    """Every run has found exactly what its product is."""
    expected = {
        str(product.id): {
            "name": product.name,
            "price": f"{product.amount} {product.currency}",
            "description": product.description,
        }
        for product in products()
    }
    wanted = {run.id: expected[run.payload["url"].rpartition("/")[2]] for run, _ in runs}
    seen: Counter[str] = Counter()
    before: str | None = None
    while page := await app.store.newest_records(RecordFilter(), before, 200):
        before = page[-1].id
        for record in page:
            if record.run_id in wanted:
                assert record.data == wanted[record.run_id], record
                seen[record.run_id] += 1
    assert seen == Counter(wanted.keys()), f"{len(wanted) - len(seen)} runs have no record"


@contextlib.contextmanager
def _demo_shop(folder: Path) -> Iterator[str]:
    """With the quickest server there is for it: it shares two cores with what is measured."""
    port = free_port()
    site = ["corral.demo.site:create_site", "--factory", "--http", "httptools", "--loop", "uvloop"]
    command = [sys.executable, "-m", "uvicorn", *site, "--port", str(port), "--log-level", "critical"]
    process = subprocess.Popen(command, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url), 20, "the demo shop")
        yield url
    finally:
        stop([process])


def _answers(url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"{url}/robots.txt").status_code == 200
    return False
