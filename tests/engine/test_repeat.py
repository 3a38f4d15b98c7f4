"""The loop of background tasks: it survives errors of the storage, and ends when the database was migrated."""

import pytest

from corral.domain.errors import RunNotFound, StorageError, StorageMoved, StorageUnavailable
from corral.engine.repeat import repeat_step


async def test_a_storage_error_is_reported_and_the_step_repeated_until_the_database_has_moved() -> None:
    results = [None, StorageUnavailable("no answer"), None, StorageMoved("a.db", "it was moved")]
    reported: list[StorageError] = []

    async def step() -> None:
        result = results.pop(0)
        if result is not None:
            raise result

    await repeat_step(step, 0, reported.append)
    assert results == []
    assert [error.message for error in reported] == ["no answer"]


async def test_any_other_error_ends_the_loop() -> None:
    async def step() -> None:
        raise RunNotFound("abc")

    with pytest.raises(RunNotFound):
        await repeat_step(step, 0, lambda _: None)
