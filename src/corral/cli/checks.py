"""What `corral doctor` looks at. Each check answers with what it found and what to do; none of them repairs."""

import os
import resource
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corral.cli.running import database_file, is_unborn, opened_store
from corral.domain.errors import BadConfiguration, StorageError

if TYPE_CHECKING:
    from corral.settings import Settings

_MIB = 1024 * 1024
_LITTLE_BYTES = 1024 * _MIB
_TOO_LITTLE_BYTES = 100 * _MIB
_FILES_PER_RUN = 2
_BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell"),
    "/usr/lib/chromium/chromium-headless-shell",
)


class Verdict(StrEnum):
    FINE = "✓"
    WATCH = "!"
    WRONG = "✗"
    INFO = "·"


@dataclass(frozen=True, slots=True)
class Check:
    verdict: Verdict
    name: str
    found: str
    remedy: str = ""

    def shape(self) -> dict[str, str]:
        words = {"✓": "ok", "!": "warning", "✗": "wrong", "·": "info"}
        return {"name": self.name, "verdict": words[self.verdict], "found": self.found, "remedy": self.remedy}


async def all_checks() -> AsyncIterator[Check]:
    from corral.settings import load_settings

    try:
        settings = load_settings()
    except BadConfiguration as error:
        for problem in error.problems:
            what, _, fix = problem.partition("; ")
            yield Check(Verdict.WRONG, "settings", what, fix or "correct it in the environment or .env")
        return
    yield Check(Verdict.FINE, "settings", "every APP_ name is known and has a good value")
    for check in (*_folder(settings), _disk(settings), _open_files(settings), _browser(), _token(settings)):
        yield check
    async for each in _database(settings):
        yield each


def _folder(settings: "Settings") -> Iterator[Check]:
    folder = settings.data_dir.absolute()
    if not folder.exists():
        yield Check(Verdict.INFO, "data folder", f"{folder} is not there yet", "the first start creates it")
        return
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"corral")
    except OSError as error:
        remedy = "give this user the right to write there, or set APP_DATA_DIR"
        yield Check(Verdict.WRONG, "data folder", f"{folder}: {error.strerror or error}", remedy)
        return
    yield Check(Verdict.FINE, "data folder", f"{folder} can be written")


def _disk(settings: "Settings") -> Check:
    place = settings.data_dir.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    text = f"{free / _MIB / 1024:.1f} GiB free"
    if free < _TOO_LITTLE_BYTES:
        return Check(Verdict.WRONG, "disk", text, "free some space; below this Corral stops taking work")
    if free < _LITTLE_BYTES:
        return Check(Verdict.WATCH, "disk", text, "free some space, or set APP_RETENTION_DAYS")
    return Check(Verdict.FINE, "disk", text)


def _open_files(settings: "Settings") -> Check:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.concurrency * _FILES_PER_RUN + 100
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        remedy = f"`ulimit -n {wanted}` before starting, or a lower APP_CONCURRENCY"
        return Check(Verdict.WATCH, "open files", f"{allowed} allowed, {wanted} may be needed", remedy)
    return Check(Verdict.FINE, "open files", f"{allowed} allowed, at most {wanted} needed")


def _browser() -> Check:
    installed = next(filter(None, map(shutil.which, _BROWSERS)), None) or _of_playwright()
    if installed is None:
        remedy = "`playwright install chromium`, or any Chromium, for pages that need a browser"
        return Check(Verdict.INFO, "browser", "no Chromium found", remedy)
    return Check(Verdict.INFO, "browser", f"Chromium at {installed}")


def _of_playwright() -> str | None:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    folder = Path(named) if named else Path.home() / ".cache" / "ms-playwright"
    found = sorted(folder.glob("chromium*-*")) if folder.is_dir() else []
    return str(found[-1]) if found else None


def _token(settings: "Settings") -> Check:
    if settings.write_token is None:
        return Check(Verdict.INFO, "token", "none: the API binds loopback only", "APP_WRITE_TOKEN opens it to others")
    return Check(Verdict.FINE, "token", "configured")


async def _database(settings: "Settings") -> AsyncIterator[Check]:
    """First without touching it; only a database that is sound and of our version is opened."""
    try:
        path = database_file(settings)
        if path is not None:
            if is_unborn(path):
                yield Check(Verdict.INFO, "database", f"{path} is not there yet", "the first start creates it")
                return
            verdict = _file(path)
            yield verdict
            if verdict.verdict is not Verdict.FINE:
                return
        async for check in _contents(settings):
            yield check
    except StorageError as error:
        yield Check(Verdict.WRONG, "database", error.message, error.hint or "")


def _file(path: Path) -> Check:
    import pysqlite3

    from corral.store import schema, sqlite_file

    sqlite_file.check_file(path)
    try:
        connection = sqlite_file.connect(path, readonly=True)
        try:
            answers = [row[0] for row in connection.execute("PRAGMA integrity_check(5)").fetchall()]
            version = _version(connection)
        finally:
            connection.close()
    except pysqlite3.Error as error:
        raise sqlite_file.translated(error, path) from error
    if answers != ["ok"]:
        remedy = "restore a backup; stop every `corral` on it first"
        return Check(Verdict.WRONG, "database", f"{path} is damaged: {'; '.join(answers)}", remedy)
    if version is None:
        remedy = "set APP_DATA_DIR or APP_DATABASE_URL to a place of Corral's own"
        return Check(Verdict.WRONG, "database", f"{path} belongs to some other program", remedy)
    if not schema.check_version(version, str(path)):
        remedy = f"the next start brings it to {schema.HEAD}; back it up first"
        return Check(Verdict.WATCH, "database", f"{path} is sound, schema version {version}", remedy)
    size = path.stat().st_size / _MIB
    return Check(Verdict.FINE, "database", f"{path} is sound ({size:.1f} MiB), schema version {version}")


def _version(connection: Any) -> str | None:
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if "alembic_version" not in names:
        return None
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None


async def _contents(settings: "Settings") -> AsyncIterator[Check]:
    async with opened_store(settings) as store:
        await store.ping()
        if database_file(settings) is None:
            yield Check(Verdict.FINE, "database", "PostgreSQL answers and takes writes")
        findings = await store.findings()
        counts = await store.count_live()
    for finding in findings:
        yield Check(Verdict.WRONG, finding.rule, f"{finding.subject}: {finding.what}", finding.remedy)
    if not findings:
        yield Check(Verdict.FINE, "invariants", "every rule about runs, events and records holds")
    yield _workers(counts)


def _workers(counts: dict[str, int]) -> Check:
    shown = ", ".join(f"{count} {state}" for state, count in counts.items())
    if counts.get("queued") and not counts.get("running"):
        return Check(Verdict.INFO, "work", shown, "if this stays so, no worker runs: `corral up` or `corral worker`")
    return Check(Verdict.INFO, "work", shown)
