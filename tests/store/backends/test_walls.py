"""What the database itself refuses, whoever writes to it."""

import psycopg
import pysqlite3
import pytest

from corral.domain.runs.run import TERMINAL, RunState
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import add, claim_new
from tests.store.conftest import Sql

REFUSED = (pysqlite3.IntegrityError, psycopg.IntegrityError, psycopg.errors.RaiseException)


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_a_finished_run_cannot_change_state_even_by_hand(store: Store, sql: Sql, state: RunState) -> None:
    run_id = await add(store)
    sql(f"UPDATE runs SET state = '{state}', finished_at = 1 WHERE id = '{run_id}'")
    for other in RunState:
        with pytest.raises(REFUSED):
            sql(f"UPDATE runs SET state = '{other}' WHERE id = '{run_id}'")
    assert (await store.runs.get(run_id)).state is state


@pytest.mark.parametrize(
    "change",
    [
        "state = 'running'",
        "state = 'running', owner = 'me'",
        "state = 'running', lease_until = 1",
        "state = 'held'",
        "state = 'completed'",
        "finished_at = 1",
        "attempt = 0",
        "attempt = max_attempts + 1",
        "seq = NULL",
        "due_at = NULL",
    ],
)
async def test_a_row_that_makes_no_sense_cannot_be_written(store: Store, sql: Sql, change: str) -> None:
    await add(store)
    with pytest.raises(REFUSED):
        sql(f"UPDATE runs SET {change}")


async def test_a_result_cannot_be_stored_twice(store: Store, sql: Sql) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.complete(lease, [{"n": 1}]))
    with pytest.raises(REFUSED):
        sql(
            "INSERT INTO records (id, run_id, item_key, data, created_at)"
            " SELECT 'other', run_id, item_key, data, created_at FROM records"
        )


async def test_an_event_number_cannot_be_used_twice(store: Store, sql: Sql) -> None:
    await add(store)
    with pytest.raises(REFUSED):
        sql(
            "INSERT INTO events (run_id, seq, kind, meta, created_at)"
            " SELECT run_id, seq, kind, meta, created_at FROM events"
        )
