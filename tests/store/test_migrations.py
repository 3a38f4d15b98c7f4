from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from corral.domain.runs.event import EventKind
from corral.domain.runs.run import RunState
from corral.runtime.new_ids import new_id
from corral.store import schema
from corral.store.indexes import metadata
from corral.store.open import open_store
from tests import services
from tests.chaos.level import by_level
from tests.store.builders import ME, add, complete, settle
from tests.store.old_database import open_engine


def _tables(url: str) -> set[str]:
    with open_engine(url) as engine:
        return set(sa.inspect(engine).get_table_names())


_OLD_RUN = (
    "INSERT INTO runs (id, kind, state, priority, attempt, max_attempts, requested_strategy, resolved_strategy,"
    " payload, due_at, created_at, seq) VALUES ('{id}', 'page', 'queued', 2, 1, 3, 'auto', 'http', '{{}}', 1, 1, 1)"
)
_OLD_EVENT = "INSERT INTO events (run_id, seq, kind, meta, created_at) VALUES ('{id}', 1, 'created', '{{}}', 1)"


async def test_a_database_of_the_first_version_is_brought_up_with_what_is_in_it(empty_url: str) -> None:
    run_id = new_id()
    with open_engine(empty_url) as engine:
        schema.upgrade(engine, "0001")
        with engine.begin() as connection:
            for statement in (_OLD_RUN, _OLD_EVENT):
                connection.exec_driver_sql(statement.format(id=run_id))
    store = open_store(empty_url)
    assert [run.id for run in await store.runs.newest(None, RunState.QUEUED, None, 10)] == [run_id]
    assert [event.kind for event in await store.events.of_run(run_id, 0, 10)] == [EventKind.CREATED]
    assert [event.run_id for event in await store.events.feed(0, 10)] == [run_id]
    [lease] = await store.runs.claim(ME, 1, 10)
    assert await settle(store, complete(lease))
    await store.close()


def test_the_migrated_tables_are_the_declared_ones(empty_url: str) -> None:
    open_store(empty_url)._db.close_now()
    with open_engine(empty_url) as engine, engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


class _Killed(Exception):
    pass


def _count_statements(url: str) -> int:
    seen: list[str] = []
    with open_engine(url) as engine:
        sa.event.listen(engine, "before_cursor_execute", lambda *args: seen.append(args[2]))
        schema.upgrade(engine)
    return len(seen)


def _upgrade_killed_at(url: str, number: int) -> None:
    seen = 0

    def count(*_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            raise _Killed

    with open_engine(url) as engine:
        sa.event.listen(engine, "before_cursor_execute", count)
        with pytest.raises(_Killed):
            schema.upgrade(engine)


async def test_a_migration_that_was_interrupted_anywhere_leaves_nothing_and_runs_again(
    empty_url: str, postgres: services.PostgresCluster, tmp_path: Path
) -> None:
    scratch = f"sqlite:///{tmp_path}/scratch.db" if empty_url.startswith("sqlite") else postgres.create_database()
    total = _count_statements(scratch)
    assert total > 15
    for number in range(2, total + 1, by_level(31, 1)):
        _upgrade_killed_at(empty_url, number)
        assert _tables(empty_url) == set()
    store = open_store(empty_url)
    await add(store)
    await store.close()


def test_opening_again_migrates_nothing(empty_url: str) -> None:
    open_store(empty_url)._db.close_now()
    open_store(empty_url)._db.close_now()
    assert "runs" in _tables(empty_url)


def test_the_versions_known_are_the_migrations_there_are() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert revisions[::-1] == list(schema._KNOWN)
    assert revisions[0] == schema.HEAD
