"""`corral loop start`, `stop` and `status`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, ReportOptions
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.writable_store import open_writable_store
from corral.domain.loop.state import LoopState
from corral.domain.loop.windows import parse_window
from corral.domain.runs.node import NodeState
from corral.settings import Settings, load_settings
from corral.store.store import Store
from corral.views.loop import loop_view
from corral.wiring.coverage import load_inventory
from corral.wiring.scrapers import registry_key


@dataclass(frozen=True, kw_only=True)
class LoopStartOptions:
    every: Annotated[
        float, typer.Option("--every", metavar="MINUTES", min=0.05, max=43_200, help="Minutes between reconciliations.")
    ] = 15.0
    window: Annotated[
        list[str] | None,
        typer.Option("--window", metavar="HH:MM-HH:MM", help="A maintenance window in UTC; may be repeated."),
    ] = None
    report: ReportOptions


def start(options: LoopStartOptions) -> None:
    """Reconcile now and at regular intervals, in a running Corral.

    It also reconciles after the queue was drained. The loop goes on after a restart, until it is stopped. In a
    maintenance window no reconciliation starts.

    \b
    corral loop start
    corral loop start --every 60 --window 22:00-06:00 --window "sun 10:00-12:00"
    """
    settings = load_settings()
    for window in options.window or []:
        parse_window(window)
    load_inventory(settings.data_inventory)
    finish(_start(settings, options))


async def _start(settings: Settings, options: LoopStartOptions) -> int:
    about = {"every_minutes": options.every, "windows": options.window or []}
    if options.report.dry_run:
        render.print_plan("start the loop", about, as_json=options.report.as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        state = await store.loop.configure(options.every * 60, options.window or [])
        return await _print(settings, store, state, as_json=options.report.as_json)


def stop(report: ReportOptions) -> None:
    """Stop the loop: no further reconciliation starts.

    Tasks that are in the queue are executed.

    \b
    corral loop stop
    """
    finish(_stop(load_settings(), report))


async def _stop(settings: Settings, report: ReportOptions) -> int:
    if report.dry_run:
        render.print_plan("stop the loop", {}, as_json=report.as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        return await _print(settings, store, await store.loop.stop(), as_json=report.as_json)


def status(as_json: AsJson = False) -> None:
    """Show what the loop does and how it went last.

    Exit code 1 if the loop is on and its reconciliations fail, or if no node executes them.

    \b
    corral loop status
    corral loop status --json
    """
    finish(_status(load_settings(), as_json=as_json))


async def _status(settings: Settings, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        state = await store.loop.read()
        code = await _print(settings, store, state, as_json=as_json)
        return exits.FAILED if state.is_on and not await _has_node(store) else code


async def _print(settings: Settings, store: Store, state: LoopState, *, as_json: bool) -> int:
    has_open_tasks = await store.queue.has_work(registry_key(settings.scraper_config))
    view = loop_view(state, datetime.now(UTC), has_open_tasks=has_open_tasks)
    if as_json:
        render.print_json(view)
    else:
        render.print_properties(_flat(view))
    if not state.is_on:
        return exits.DONE
    if not await _has_node(store):
        exits.complain("no running node can execute the loop", "start one with `corral up`")
    return exits.FAILED if state.failures else exits.DONE


async def _has_node(store: Store) -> bool:
    return any(node.state is NodeState.LIVE for node in await store.nodes.list_all())


def _flat(view: dict[str, Any]) -> dict[str, Any]:
    last = view.pop("last")
    return {**view, **{f"last {name}": value for name, value in last.items()}}
