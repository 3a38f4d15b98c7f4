import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from corral.store.open import open_store
from tests.services.ports import free_port
from tests.services.process import end, find_binary, kill_tree, launch, wait_until_ready

_ROLE = "corral"
_OPTIONS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "200",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "warning",
}


@dataclass
class PostgresCluster:
    """One PostgreSQL with its own data directory. Stopping keeps the data and the port."""

    server: Path
    directory: Path
    port: int
    user: str | None
    process: subprocess.Popen[bytes] | None = None
    template: str | None = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{_ROLE}@127.0.0.1:{self.port}/{database}"

    def create_database(self, name: str | None = None, *, like: str = "template1") -> str:
        """Create an empty database, or a copy of another one that nobody uses, and return its URL."""
        name = name or f"test_{uuid.uuid4().hex}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(like.rpartition("/")[2])))
        return self.url(name)

    def create_migrated(self) -> str:
        """Create a database with the tables and nothing in them, as the first start makes it, and return its URL."""
        if self.template is None:
            self.template = self.create_database()
            open_store(self.template)._db.close_now()
        return self.create_database(like=self.template)

    def drop_database(self, url: str) -> None:
        """Drop a database by its URL, disconnecting whoever still uses it."""
        name = sql.Identifier(url.rpartition("/")[2])
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    def start(self) -> None:
        log = self.directory / "log"
        options = [f"--{name}={value}" for name, value in _OPTIONS.items()]
        command: list[str | Path] = [
            self.server,
            "-D",
            self.directory / "data",
            "-p",
            str(self.port),
            "-k",
            self.directory,
        ]
        self.process = launch([*command, *options], directory=self.directory, log=log, user=self.user)
        wait_until_ready(self.process, self.is_ready, log=log)

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """An orderly stop that disconnects clients."""
        if self.process is not None:
            end(self.process, signal.SIGINT)
            self.process = None

    def kill(self) -> None:
        """A crash: no checkpoint, no goodbye."""
        if self.process is not None:
            kill_tree(self.process)
            self.process = None


@contextmanager
def postgres_cluster() -> Iterator[PostgresCluster]:
    directories = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    initdb = find_binary("initdb", service="postgres", directories=directories)
    server = find_binary("postgres", service="postgres", directories=directories)
    user = _find_unprivileged_user()
    directory = Path(tempfile.mkdtemp(prefix="corral-postgres-"))
    cluster = PostgresCluster(server=server, directory=directory, port=free_port(), user=user)
    try:
        if user:
            shutil.chown(directory, user)
        _initialise(initdb, directory, user)
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _version(directory: Path) -> int:
    major = directory.parent.name
    return int(major) if major.isdigit() else 0


def _find_unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root; None means: as whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    users = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in users else "nobody"


def _initialise(initdb: Path, directory: Path, user: str | None) -> None:
    command: list[str | Path] = [
        initdb,
        "-D",
        directory / "data",
        "-U",
        _ROLE,
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "-N",
    ]
    done = subprocess.run(command, cwd=directory, user=user, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"initdb: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
