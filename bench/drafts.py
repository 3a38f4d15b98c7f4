"""Runs of Corral that are ready to be written, and waiting for them to end."""

from __future__ import annotations

import asyncio

from corral.domain.runs.event import EventDraft
from corral.domain.runs.run import NewRun
from corral.wiring.app import App

_BULK = 200

Drafted = tuple[NewRun, list[EventDraft]]


async def finished(app: App, runs: list[Drafted]) -> None:
    """Submit them all, and wait until none is left to do."""
    for start in range(0, len(runs), _BULK):
        await app.store.runs.add(runs[start : start + _BULK])
        assert app.node is not None
        app.node.wake()
    while any((await app.store.runs.count_live()).values()):  # noqa: ASYNC110 - the database sends no notification
        await asyncio.sleep(0.01)
