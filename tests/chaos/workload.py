"""The reference workload, in one process with its node: every commit point of it can be crashed at.

Each id is written to a journal when it was answered. Called again after a crash, it submits nothing and only brings
what is there to its end.
"""

import os
from pathlib import Path
from typing import Any

import uvloop

from corral.domain.errors import WrongState
from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.run import NewRun, RunAction
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node
from tests.engine.builders import drill, put, wait_for_start
from tests.waiting import until


class Journal:
    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, ids: list[str]) -> None:
        for id_ in ids:
            os.write(self._file, f"{id_}\n".encode())


async def submit_all(app: App, journal: Journal) -> None:
    """Twenty runs with records, one that is retried, one cancelled, one paused and resumed."""

    async def submit(run: NewRun) -> str:
        [id_] = await put(app, run)
        journal.note([id_])
        return id_

    for number in range(20):
        await submit(drill("sleep", seconds=0.01 * (number % 4), record=True))
    await submit(drill("fail", max_attempts=2))
    cancelled = await submit(drill("sleep", seconds=20, record=True))
    await wait_for_start(app, cancelled)
    await app.submitter.apply_action(cancelled, RunAction.CANCEL)
    paused = await submit(drill("sleep", seconds=0.3, record=True))
    try:
        await app.submitter.apply_action(paused, RunAction.PAUSE)
        await app.submitter.apply_action(paused, RunAction.RESUME)
    except WrongState:
        return


async def bring_to_an_end(app: App) -> None:
    """Resume what was left paused, cancel what would take for ever, wait for the rest."""
    for run in await app.store.runs.newest(None, None, None, 100):
        if run.state == "held":
            await app.submitter.apply_action(run.id, RunAction.RESUME)
        if run.payload.read(SelftestPayload).seconds == 20 and not run.state.is_terminal:
            await app.submitter.apply_action(run.id, RunAction.CANCEL)
    await until(lambda: _is_drained(app), within_s=90)


async def _is_drained(app: App) -> bool:
    return not any((await app.store.runs.count_live()).values())


async def work(settings: Settings, journal: Journal, again: bool) -> None:
    async with open_node(settings) as app:
        if not again:
            await submit_all(app, journal)
        await bring_to_an_end(app)


def main(given: dict[str, Any], env: dict[str, str], log: Path) -> None:
    """Called in a process of its own."""
    os.environ.update(env)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    journal, again = Journal(Path(given.pop("journal"))), given.pop("again")
    uvloop.run(work(load_settings(**given), journal, again))
