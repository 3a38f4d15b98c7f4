"""`corral run-script`: execute a script now, with limits, without configuration."""

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, hints, render, shapes
from corral.cli.options import ReportOptions
from corral.cli.progress import history
from corral.cli.progress.script import ScriptDisplay, count_records
from corral.cli.running import Stop, finish, first_of
from corral.cli.verbs.run.records import records_of
from corral.domain.errors import BadInput, RunNotFound, WrongState
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.runs.run import NewRun, Run, RunAction, RunState
from corral.domain.scripts.limits import MAX_TIMEOUT_S, USUAL_LIMITS, ScriptLimits
from corral.domain.scripts.records import RecordSource
from corral.domain.scripts.scraper import ENV_NAME, OWN_PREFIX
from corral.engine.worker.kinds.script import SCRIPT_KIND
from corral.log import configure_logging
from corral.scripts.registry import choose_command
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_new_run

_ALL = 1_000_000
_TIMEOUT_S = 3600.0
_SCRIPT_SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".sh")


@dataclass(frozen=True, kw_only=True)
class RunScriptOptions:
    command: Annotated[list[str], typer.Argument(metavar="CMD…", help="The command, after --.")]
    name: Annotated[str, typer.Option("--name", help="Name of the run. Default: the name of the script.")] = ""
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=1, max=MAX_TIMEOUT_S, help="End it after this time.")
    ] = _TIMEOUT_S
    memory: Annotated[
        int, typer.Option("--memory", metavar="MIB", min=16, help="Memory of all its processes together.")
    ] = USUAL_LIMITS.memory_mib
    processes: Annotated[int, typer.Option("--processes", min=1, help="Processes at once.")] = USUAL_LIMITS.processes
    records: Annotated[
        str,
        typer.Option(
            "--records", metavar="SOURCE", help="Where its records are: stdout (JSON lines), file:PATH or none."
        ),
    ] = "stdout"
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME", help="Pass on this variable of the environment. May be repeated."),
    ] = None
    max_attempts: Annotated[int, typer.Option("--max-attempts", min=1, max=100, help="Tries before the run fails.")] = 1
    report: ReportOptions


def run_script(options: RunScriptOptions) -> None:
    """Execute a script now and keep its records.

    Its output passes through. JSON lines on its standard output become records. It runs without a shell.
    Exit code: 0 completed, 3 completed with something missing, 1 failed, 130 interrupted (the script is ended).

    \b
    corral run-script -- python my_scraper.py --season 2024-25
    corral run-script --records file:out.csv -- ./fetch.sh
    corral run-script --env API_KEY --timeout 600 -- node scraper.js
    corral run-script --json -- python my_scraper.py | jq '.records | length'
    """
    run = _draft_run(options)
    if options.report.dry_run:
        _print_dry_run(run.payload.read(ScriptPayload), options)
    else:
        finish(_run_script(load_settings(), run, options))


def _draft_run(options: RunScriptOptions) -> NewRun:
    try:
        records = RecordSource.of(options.records)
    except ValueError as error:
        raise BadInput(f"--records {error}", field="records") from None
    argv = _find_command(options.command)
    payload = ScriptPayload(
        argv=argv,
        cwd=str(Path.cwd()),
        name=options.name or _name_of(argv),
        timeout_s=options.timeout,
        env_names=_check_env(options.env or []),
        limits=ScriptLimits(memory_mib=options.memory, processes=options.processes),
        records=records,
        echo=True,
    )
    return SCRIPT_KIND.draft_run(payload, max_attempts=options.max_attempts)


def _find_command(command: list[str]) -> tuple[str, ...]:
    program = command[0]
    path = Path(program)
    if path.is_file() and not os.access(path, os.X_OK):
        return (*choose_command(path.absolute()), *command[1:])
    if shutil.which(program) is None:
        hint = "put the command after --, for example: corral run-script -- python my_scraper.py"
        raise BadInput(f"there is no program {program!r}", field="command", hint=hint)
    return tuple(command)


def _name_of(argv: tuple[str, ...]) -> str:
    script = next((argument for argument in argv if argument.endswith(_SCRIPT_SUFFIXES)), argv[0])
    return Path(script).stem


def _check_env(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if not ENV_NAME.fullmatch(name) or name.startswith(OWN_PREFIX):
            why = "takes the name of a variable, not a value" if "=" in name else "is no variable that can be passed on"
            raise BadInput(f"--env {name.partition('=')[0][:80]} {why}", field="env")
        if name not in os.environ:
            raise BadInput(f"--env {name}: the variable is not set", field="env")
    return tuple(names)


def _print_dry_run(payload: ScriptPayload, options: RunScriptOptions) -> None:
    if options.report.as_json:
        render.print_json({"would": "run-script", "script": payload.document()})
        return
    print(f"would execute {shlex.join(payload.argv)} in {payload.cwd}; nothing was started or written")


async def _run_script(settings: Settings, new: NewRun, options: RunScriptOptions) -> int:
    configure_logging("error")
    stop = Stop()
    stop.listen()
    with ScriptDisplay(passes_stdout=not options.report.as_json) as display:
        created = EventDraft(EventKind.CREATED, {"script": new.payload.read(ScriptPayload).name})
        # Only this process has its environment variables and shows its output: no other node may claim it.
        async with open_new_run(settings, new, [created]) as app:
            assert app.node is not None
            stop.on_repeat = app.node.stop_now
            app.node.progress.on_output = display.on_output
            app.node.progress.on_progress = display.on_progress
            if not await _wait_for_start(app, new.id, stop):
                exits.complain("interrupted before the script was started")
                return exits.INTERRUPTED
            ended = await _execute(app, new.id, stop, display.tick)
            run = await app.store.runs.get(new.id)
            records = await records_of(app.store, run.id, _ALL) if options.report.as_json else []
        # Leaving the block waits for the end of an interrupted script, and shows its output until then.
    if options.report.as_json:
        render.print_json({"run": shapes.run_shape(run), "records": [record.data for record in records]})
    return _report(run) if ended else exits.INTERRUPTED


async def _wait_for_start(app: App, run_id: str, stop: Stop) -> bool:
    """Wait until the run is stored, which happens when it starts. Return False if the user interrupted before."""
    while not stop.is_requested:
        with contextlib.suppress(RunNotFound):
            await app.store.runs.get(run_id)
            return True
        await app.pulse.wait(0.02)
    return False


async def _execute(app: App, run_id: str, stop: Stop, tick: Callable[[], None]) -> bool:
    """Wait for the end of the run. Return False if the user interrupted and so cancelled it."""

    async def wait(seconds: float) -> None:
        tick()
        await app.pulse.wait(seconds)

    async def watch() -> None:
        async for event in history.follow(app.store, run_id, wait):
            if event.kind is EventKind.RETRY_SCHEDULED:
                print(history.line(event), file=sys.stderr, flush=True)
            if event.kind in (EventKind.QUARANTINED, EventKind.WAITING):
                return

    if await first_of(watch(), stop):
        return True
    try:
        await app.submitter.apply_action(run_id, RunAction.CANCEL)
    except WrongState:
        return True  # it ended at the same moment
    exits.complain(f"interrupted; run {run_id} is cancelled")
    return False


def _report(run: Run) -> int:
    stats = run.stats
    if run.state is RunState.COMPLETED:
        summary = f"{count_records(stats.get('records', 0))} in {stats.get('wall_s', 0):.1f} s"
        print(f"corral: run {run.id} completed: {summary}", file=sys.stderr)
    else:
        exits.complain(f"{run.state}: {hints.reason_of(run)}", hints.hint_for(run), hints.history_of(run))
    return exits.code_of_state(run.state)
