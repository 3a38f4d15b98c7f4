"""`corral status`: the nodes, the runs they hold, the queues, and what is wrong."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson
from corral.cli.render import Cell
from corral.cli.running import finish
from corral.cli.stores import database_file, read_store
from corral.domain.errors import StorageUnavailable
from corral.domain.runs.node import BrokerNow, NodeStatus, QueueNow, troubles
from corral.settings import Settings, load_settings
from corral.views.nodes import node_read, queue_read
from corral.wiring.broker import read_broker_state

_EVERY_S = 2.0
_MAX_NODES = 200
_NODES = ("state", "role", "host…", "pid", "queues?", "processes?", "holds", "up?", "seen", "version?")
_QUEUES = ("queue", "due", "later", "held", "running", "oldest")
_HELD = ("run", "kind", "job?", "node", "since", "lease left?")

_NO_BROKER = "nodes poll the database until then; start Redis, or check APP_CELERY_BROKER_URL"

Watch = Annotated[bool, typer.Option("--watch", help=f"Refresh every {_EVERY_S:g} s, until Ctrl-C.")]


@dataclass(frozen=True, slots=True)
class StatusSnapshot:
    """The state of the installation; only the error if the database does not answer."""

    storage: str
    storage_is_up: bool
    nodes: Sequence[NodeStatus] = ()
    queues: Sequence[QueueNow] = ()
    broker: BrokerNow | None = None
    problems: tuple[str, ...] = ()


def status(as_json: AsJson = False, watch: Watch = False) -> None:
    """Show the nodes, the runs they hold, and the queues.

    Changes nothing. Exit code 1 if work is due and no node serves its queue, or if the database or the broker does
    not answer.

    \b
    corral status
    corral status --watch
    corral status --json | jq '.queues[] | {queue, due, oldest_s}'
    """

    finish(_status(load_settings(), as_json=as_json, watch=watch))


async def _status(settings: Settings, *, as_json: bool, watch: bool) -> int:

    while True:
        snapshot = await read_snapshot(settings)
        _show(snapshot, as_json=as_json, watch=watch)
        if not watch:
            return exits.FAILED if snapshot.problems else exits.DONE
        await asyncio.sleep(_EVERY_S)


async def read_snapshot(settings: Settings) -> StatusSnapshot:

    storage, broker = _storage(settings), await read_broker_state(settings)
    trouble = [f"the broker does not answer: {broker.problem}; {_NO_BROKER}"] if broker and broker.problem else []
    try:
        async with read_store(settings) as store:
            nodes, queues = await store.nodes.list_all(limit=_MAX_NODES), await store.runs.count_queues()
    except StorageUnavailable as error:
        problems = (f"{error.message}; {error.hint or 'try again'}", *trouble)
        return StatusSnapshot(storage, storage_is_up=False, broker=broker, problems=problems)
    return StatusSnapshot(storage, True, nodes, queues, broker, (*troubles(nodes, queues), *trouble))


def _storage(settings: Settings) -> str:

    path = database_file(settings)
    if path is None:
        return "PostgreSQL"
    return f"SQLite, {path}" if path.exists() else f"SQLite, {path} (not there yet)"


def _show(snapshot: StatusSnapshot, *, as_json: bool, watch: bool) -> None:

    if as_json:
        render.print_json(_shape(snapshot), compact=watch)
        return
    if watch and render.on_terminal():
        render.console().clear()
    print(f"storage  {snapshot.storage}: {'up' if snapshot.storage_is_up else 'down'}")
    if snapshot.broker is not None:
        messages = ", ".join(f"{name.value} {count}" for name, count in (snapshot.broker.messages or {}).items())
        print(f"broker   {'down' if snapshot.broker.problem else 'up'}{f', messages: {messages}' if messages else ''}")
    if snapshot.storage_is_up:
        print()
        render.print_table(_NODES, [_node_row(each) for each in snapshot.nodes], nothing="no node is running")
        print()
        render.print_table(_QUEUES, [_queue_row(each) for each in snapshot.queues], nothing="nothing waits")
        if held := [row for each in snapshot.nodes for row in _rows_of_runs(each)]:
            print()
            render.print_table(_HELD, held)
    print()
    print("\n".join(f"✗ {problem}" for problem in snapshot.problems) or "✓ everything is served")


def _node_row(node: NodeStatus) -> tuple[Cell, ...]:

    info = node.info
    up = render.ago(node.started_at).removesuffix(" ago")
    queues = ",".join(info.queues) or "-"
    cells = (node.state.value, info.role.value, info.host, info.pid, queues, node.processes, node.holding)
    return (*cells, up, f"{node.seen_s:.0f} s ago", info.version)


def _queue_row(queue: QueueNow) -> tuple[Cell, ...]:
    oldest = "-" if queue.oldest_s is None else f"{queue.oldest_s:.0f} s"
    return (queue.name.value, queue.due, queue.later, queue.held, queue.running, oldest)


def _rows_of_runs(node: NodeStatus) -> list[tuple[Cell, ...]]:

    info = node.info
    rows: list[tuple[Cell, ...]] = [
        (run.id, run.kind, run.job_id, f"{info.host}:{info.pid}", render.ago(run.since), f"{run.lease_left_s:.0f} s")
        for run in node.runs
    ]
    if node.holding > len(rows):
        rows.append((f"… and {node.holding - len(rows)} more", "", "", f"{info.host}:{info.pid}", "", ""))
    return rows


def _broker_shape(broker: BrokerNow) -> dict[str, Any]:
    messages = None if broker.messages is None else {name.value: count for name, count in broker.messages.items()}
    return {"status": "down" if broker.problem else "up", "reason": broker.problem, "messages": messages}


def _shape(snapshot: StatusSnapshot) -> dict[str, Any]:

    return {
        "ok": not snapshot.problems,
        "problems": list(snapshot.problems),
        "storage": {"what": snapshot.storage, "status": "up" if snapshot.storage_is_up else "down"},
        "broker": None if snapshot.broker is None else _broker_shape(snapshot.broker),
        "workers": [node_read(each) for each in snapshot.nodes],
        "queues": [queue_read(each, snapshot.broker) for each in snapshot.queues],
    }
