"""`corral up --distributed`: the supervisor runs in this process, each service in its own."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from corral.cli import exits, render
from corral.cli.render import ago, console, printable
from corral.cli.running import stops
from corral.cli.serving.listener import Listener, announcement
from corral.log import hide
from corral.settings import Settings
from corral.supervisor.plan import Adopts, Service, start_order, stop_order
from corral.supervisor.status import ServiceStatus
from corral.supervisor.supervisor import Supervisor
from corral.wiring.services import Installation

if TYPE_CHECKING:
    from rich.table import Table


_REFRESH_PER_S = 4
_WAIT_S = 0.2
_ANSWERING = ("up", "unhealthy", "down")
_TONES = {"up": "green", "failed": "red", "down": "red", "unhealthy": "yellow", "restarting": "yellow"}


def up_distributed(
    settings: Settings, listener: Listener, *, workers: int | None, dry_run: bool, as_json: bool
) -> NoReturn:
    """Run until a stop is requested."""

    hide(settings.secrets())
    # The API process binds the port itself; binding it here only checked that it is free.
    listener.socket.close()
    installation = Installation(settings, warn=lambda text: _note(text, as_json=as_json))
    installation.check()
    services = installation.services(workers=workers, api=(listener.host, listener.port))
    if dry_run:
        _print_plan(services, as_json=as_json)
        raise typer.Exit(exits.DONE)
    if not installation.has_postgres:
        hint = "several machines need PostgreSQL: APP_DATABASE_URL=postgresql://user@host/database"
        _note(f"the database is a SQLite file: everything has to run on this machine ({hint})", as_json=as_json)
    code = _supervise(settings, services, listener, as_json=as_json)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # everything has stopped; a normal exit would wait for health checks in progress


def _supervise(settings: Settings, services: Sequence[Service], listener: Listener, *, as_json: bool) -> int:

    names = [service.name for service in services]
    supervisor = Supervisor(services, settings.data_dir.absolute())
    stop = _Signals(supervisor)
    is_live = sys.stdout.isatty() and not as_json

    def print_changes() -> bool:
        """Print the status changes so far; return whether a stop is requested."""
        while supervisor.changes and not is_live:
            (_json_line if as_json else _plain_line)(supervisor.changes.popleft())
        return stop.requested.is_set()

    with stop.listening(), _show_table(supervisor) if is_live else nullcontext():
        try:
            supervisor.claim()
            supervisor.want(names)
            supervisor.wait_up(names, unless=print_changes)
            if not print_changes():
                print(announcement(settings, listener, "up" if as_json else "is up", as_json=as_json), flush=True)
            while not print_changes():
                stop.requested.wait(_WAIT_S)
        finally:
            supervisor.close()
            print_changes()
    return stop.exit_code


class _Signals:
    """The first signal requests a stop, each further one an immediate stop."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.requested = threading.Event()
        self._supervisor = supervisor
        self._first: int | None = None

    @property
    def exit_code(self) -> int:
        return exits.INTERRUPTED if self._first == signal.SIGINT else exits.DONE

    @contextmanager
    def listening(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._receive) for number in stops()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, _: object) -> None:
        if self._first is None:
            self._first = number
            self.requested.set()
        else:
            self._supervisor.stop_now.set()


# -- output ---------------------------------------------------------------------------------------------


def _note(text: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"warning": text}), flush=True)
    else:
        print(f"note: {text}", file=sys.stderr, flush=True)


def _json_line(status: ServiceStatus) -> None:
    document = status.document()
    print(json.dumps({"service": document.pop("name"), **document}), flush=True)


def _plain_line(status: ServiceStatus) -> None:
    owner = _describe_owner(status)
    print(f"{status.name:<10} {_describe(status)}{f' ({owner})' if owner else ''}", flush=True)


def _describe(status: ServiceStatus) -> str:

    again = None if status.next_start_s is None else f"again in {status.next_start_s:.0f} s"
    return printable(" - ".join(filter(None, (status.state.value, status.problem, again))))


def _describe_owner(status: ServiceStatus) -> str:
    if status.pid is not None:
        return f"process {status.pid}"
    return "" if status.is_ours or status.state.value not in _ANSWERING else "used, not ours"


@contextmanager
def _show_table(supervisor: Supervisor) -> Iterator[None]:
    """Show a live table on a terminal; other output appears above it."""
    from rich.live import Live

    with Live(
        get_renderable=lambda: _table(supervisor.status()), console=console(), refresh_per_second=_REFRESH_PER_S
    ) as live:
        yield
        live.refresh()


def _table(services: Sequence[ServiceStatus]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("service", "state", "whose", "restarts", "since", "log"):
        table.add_column(name, no_wrap=name != "state", overflow="fold")
    for status in services:
        state = Text(_describe(status), style=_TONES.get(status.state.value, ""))
        log = os.path.relpath(status.log) if status.log else ""
        table.add_row(status.name, state, _describe_owner(status), str(status.restarts or ""), ago(status.since), log)
    return table


def _print_plan(services: Sequence[Service], *, as_json: bool) -> None:

    by_name = {service.name: service for service in services}
    plan = [_plan(by_name[name]) for name in start_order(services)]
    if as_json:
        render.print_json({"would": "start, in this order", "services": plan, "stops": stop_order(services)})
        return
    rows = [(entry["name"], entry["action"], ", ".join(entry["needs"]), entry["command"] or "") for entry in plan]
    render.print_table(("service", "action", "needs", "command…"), rows)
    print(f"stopped in the order {', '.join(stop_order(services))}; nothing was started")


def _plan(service: Service) -> dict[str, Any]:

    is_running = service.adopts is not Adopts.NEVER and service.check(None).is_well
    action = "use" if is_running else "start" if service.command else "check"
    command = " ".join(service.command) if action == "start" else None
    return {"name": service.name, "action": action, "needs": list(service.needs), "command": command}
