"""A file or server that is busy for a moment is waited for, when a store opens and when it closes."""

import threading
import time
from pathlib import Path

from corral.store.backends import sqlite_file
from corral.store.backends.postgres_probe import ServerProbe


def test_a_file_that_another_process_holds_for_a_moment_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "corral.db"
    sqlite_file.prepare(sqlite_file.connect(path))
    holder = sqlite_file.connect(path)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("CREATE TABLE held (id INTEGER)")
    threading.Timer(0.3, holder.close).start()
    connection = sqlite_file.connect(path)
    sqlite_file.prepare(connection)
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (0,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


async def test_a_closed_probe_lets_queued_operations_finish() -> None:
    probe = ServerProbe("postgresql://127.0.0.1:1/none")
    assert not await probe.answers()
    probe.close()
    began = time.monotonic()
    assert await probe.answers()
    assert time.monotonic() - began < 0.5
