"""`corral proxy refresh` and `check`: they execute their runs themselves, beside any node that is running."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun
from corral.cli.progress.chunks import ChunkProgress, show_chunks
from corral.cli.running import Stop, finish, first_of
from corral.cli.stores import read_store
from corral.domain.proxies.refresh import RefreshProgress, RefreshStatus
from corral.domain.runs.run import Run, RunState
from corral.engine.refresh.usecases import check_config
from corral.settings import Settings, load_settings
from corral.views.proxies import pool_view, progress_view
from corral.wiring.app import App
from corral.wiring.proxies.config import load_proxy_config
from corral.wiring.proxies.live_file import live_file_writer
from corral.wiring.roles import open_client, open_run_set

_POLL_S = 0.2

NoWait = Annotated[bool, typer.Option("--no-wait", help="Only queue it; a running Corral executes it.")]


def refresh(no_wait: NoWait = False, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Read the sources of proxies and check every proxy.

    The sources are in config/proxies.yaml (APP_PROXY_CONFIG). Exit code 3 if a source or a chunk failed.

    \b
    corral proxy refresh
    corral proxy refresh --no-wait --json
    """
    settings = load_settings()
    config = load_proxy_config(settings)
    check_config(config)
    if dry_run:
        names = [source.name for source in config.sources]
        render.print_plan(f"read {len(names)} sources and check all proxies", {"sources": names}, as_json=as_json)
        return
    finish(_refresh(settings, no_wait=no_wait, as_json=as_json))


async def _refresh(settings: Settings, *, no_wait: bool, as_json: bool) -> int:
    async with open_client(settings) if no_wait else open_run_set(settings) as app:
        progress, _ = await app.proxies.refresh()
        if not no_wait:
            app.wake()
            stop = Stop()
            stop.listen()
            with show_chunks(is_quiet=as_json) as display:
                if not await first_of(_follow(app, progress.job_id, display), stop):
                    return exits.INTERRUPTED
        progress = await app.store.proxies.progress(progress.job_id)
        if progress.completed_at is not None:
            await live_file_writer(settings, app.store)(progress)
        run = await app.store.runs.get(progress.job_id)
    return _report(progress, run, as_json=as_json)


async def _follow(app: App, job_id: str, display: ChunkProgress) -> None:
    while True:
        await app.store.proxies.note_refresh_ends()
        progress = await app.store.proxies.progress(job_id)
        display.update(progress.completed_chunks, progress.total_chunks)
        if progress.status.is_final:
            return
        await asyncio.sleep(_POLL_S)


def _report(progress: RefreshProgress, run: Run, *, as_json: bool) -> int:
    problems: dict[str, Any] = (run.stats.get("problems") or {}).get("sources") or {}
    if as_json:
        render.print_json({**progress_view(progress), "problems": problems})
    else:
        print(f"refresh {progress.job_id}: {progress.status.value}, {progress.result_count or 0} usable proxies")
    for name, why in problems.items():
        exits.complain(f"source {name}: {why}")
    if progress.error:
        exits.complain(progress.error)
    if progress.status is RefreshStatus.FAILED:
        return exits.FAILED
    return exits.PARTIAL if problems or progress.failed_chunks else exits.DONE


def check(
    ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]…", help="Proxies to check; all without one.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="URL", help="A page that the proxies have to reach.")
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Check proxies of the pool now.

    A check finds out whether a proxy is alive, its anonymity, exit address, latency and TLS, and whether it reaches a
    target.

    \b
    corral proxy check
    corral proxy check 3 4 --target https://example.com/
    """
    finish(_check(load_settings(), ids or [], target, dry_run=dry_run, as_json=as_json))


async def _check(settings: Settings, chosen: Sequence[int], target: str | None, *, dry_run: bool, as_json: bool) -> int:
    async with read_store(settings) as store:
        pool_ids = set(await store.proxies.ids())
        for proxy_id in chosen:
            await store.proxies.get(proxy_id)
    ids = list(chosen) or sorted(pool_ids)
    if dry_run:
        render.print_plan(f"check {len(ids)} proxies", {"proxies": len(ids)}, as_json=as_json)
        return exits.DONE
    async with open_client(settings) as app:
        runs = [run.id for run in await app.proxies.check(ids, target=target)]
    ended: list[Run] = []
    async with open_run_set(settings, runs) as app:
        stop = Stop()
        stop.listen()
        with show_chunks(is_quiet=as_json) as display:
            if not await first_of(_wait(app, runs, ended, display), stop):
                return exits.INTERRUPTED
        counts = await app.store.proxies.count()
    return _report_check(settings, ended, counts, as_json=as_json)


async def _wait(app: App, ids: Sequence[str], ended: list[Run], display: ChunkProgress) -> None:
    left = list(ids)
    while left:
        runs = [await app.store.runs.get(run_id) for run_id in left]
        ended += [run for run in runs if run.state.is_terminal]
        left = [run.id for run in runs if not run.state.is_terminal]
        display.update(len(ids) - len(left), len(ids))
        if left:
            await asyncio.sleep(_POLL_S)


def _report_check(settings: Settings, ended: Sequence[Run], counts: dict[str, int], *, as_json: bool) -> int:
    failed = [run for run in ended if run.state in (RunState.FAILED, RunState.CANCELLED)]
    checked = sum(run.stats.get("checked", 0) for run in ended)
    alive = sum(run.stats.get("alive", 0) for run in ended)
    if as_json:
        pool = pool_view(counts, settings.min_proxies_for_scraping)
        render.print_json({"checked": checked, "alive": alive, "failed_chunks": len(failed), "pool": pool})
    else:
        print(f"{checked} checked, {alive} alive")
    for run in failed:
        exits.complain(f"run {run.id}: {run.error_message}")
    if failed:
        return exits.FAILED if len(failed) == len(ended) else exits.PARTIAL
    return exits.DONE
