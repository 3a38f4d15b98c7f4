"""Stop runs whose lease this node lost: a person cancelled or paused them, or another node took them over."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from corral.domain.errors import NotFound, StorageError
from corral.domain.ids import Owner
from corral.domain.ports.stores import RunStore
from corral.domain.runs.run import RunState
from corral.engine.node.assign import Assignment
from corral.engine.node.pool import Key
from corral.engine.node.renewer import LEASE_S


class LostLeases:
    def __init__(
        self,
        store: RunStore,
        owner: Owner,
        assignment: Assignment,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._store = store
        self._owner = owner
        self._assignment = assignment
        self._spawn = spawn

    def check(self, keys: set[Key]) -> None:
        """Stop those of these runs whose lease is lost, unless this node has claimed them again meanwhile."""
        if keys:
            self._spawn(self._check(keys))

    async def _check(self, keys: set[Key]) -> None:
        try:
            held = await asyncio.to_thread(self._store.renew_from_thread, list(keys), self._owner, LEASE_S)
        except StorageError:
            return  # the renewer notices the loss
        self.stop(keys - held)

    def stop(self, keys: set[Key]) -> None:
        """Stop the runs; the person who cancelled a script may have named the signal."""
        scripts = self._assignment.find_scripts(keys)
        self._assignment.cancel_keys(keys - scripts)
        if scripts:
            self._spawn(self._stop_scripts(scripts))

    async def _stop_scripts(self, keys: set[Key]) -> None:
        for key in keys:
            with contextlib.suppress(StorageError, NotFound):
                run = await self._store.get(key[0])
                if run.state is RunState.CANCELLED and run.failure_detail:
                    self._assignment.cancel_keys({key}, run.failure_detail)
        # Used if no signal was named, or while the storage does not answer.
        self._assignment.cancel_keys(keys)
