"""The checks of `corral doctor`. Each returns a finding and a remedy; none of them repairs anything."""

import os
import resource
import shlex
import shutil
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pysqlite3

from corral.cli.stores import database_file, read_store
from corral.cli.verbs.doctor.check import Check, CheckStatus
from corral.cli.verbs.doctor.scripts import check_scripts
from corral.domain.errors import BadConfiguration, StorageError
from corral.fetch.browser.launch_args import find_chromium, is_sandboxed
from corral.runtime.private_files import OTHERS
from corral.settings import Settings, load_settings
from corral.store import schema
from corral.store.backends import migration_marks, sqlite_file
from corral.store.open import version_of
from corral.store.store import Store
from corral.wiring.vault import check_vault_keys

_MIB = 1024 * 1024
_LITTLE_BYTES = 1024 * _MIB
_TOO_LITTLE_BYTES = 100 * _MIB
_FILES_PER_RUN = 2
SETTINGS = "settings"


async def all_checks() -> AsyncIterator[Check]:

    try:
        settings = load_settings()
    except BadConfiguration as error:
        for problem in error.problems:
            what, _, fix = problem.partition("; ")
            yield Check(CheckStatus.WRONG, SETTINGS, what, fix or "correct it in the environment or .env")
        return
    yield Check(CheckStatus.FINE, SETTINGS, "every APP_ name is known and has a good value")
    resources = (_disk(settings), _open_files(settings), _browser(settings), check_scripts(), _token(settings))
    for check in (*_folder(settings), *_privacy(settings), _user(), *resources):
        yield check
    async for each in _database(settings):
        yield each


def _folder(settings: Settings) -> Iterator[Check]:
    folder = settings.data_dir.absolute()
    remedy = "give this user the right to write there, or set APP_DATA_DIR"
    above = _nearest(folder)
    # Checks permissions instead of writing a file: the doctor must leave nothing behind.
    if above != folder and not os.access(above, os.W_OK | os.X_OK):
        yield Check(
            CheckStatus.WRONG, "data folder", f"{folder} is not there, and {above} cannot be written to", remedy
        )
        return
    if above != folder:
        yield Check(CheckStatus.INFO, "data folder", f"{folder} is not there yet", "the first start creates it")
        return
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        what = "cannot be written to" if folder.is_dir() else "is not a folder"
        yield Check(CheckStatus.WRONG, "data folder", f"{folder} {what}", remedy)
        return
    yield Check(CheckStatus.FINE, "data folder", f"{folder} is writable")


def _privacy(settings: Settings) -> Iterator[Check]:
    """Check the data folder, which holds pages, sessions and the vault key, and a database file outside of it."""
    folder, database = settings.data_dir.absolute(), database_file(settings)
    paths = [folder] if database is None or database.is_relative_to(folder) else [folder, database]
    for path in (each for each in paths if each.exists()):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & OTHERS:
            remedy = f"`chmod -R go= {shlex.quote(str(path))}`"
            yield Check(CheckStatus.WATCH, "privacy", f"other users can access {path} (mode {mode:o})", remedy)
        else:
            yield Check(CheckStatus.FINE, "privacy", f"only its user can access {path}")


def _user() -> Check:
    if os.geteuid() == 0:
        remedy = "run Corral as a separate user: code that breaks out of a worker or browser has that user's rights"
        return Check(CheckStatus.WATCH, "user", "this is root", remedy)
    return Check(CheckStatus.FINE, "user", "not root")


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if os.path.exists(path))  # noqa: PTH110 - never raises


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(_nearest(settings.data_dir.absolute())).free
    text = f"{free / _MIB / 1024:.1f} GiB free"
    if free < _TOO_LITTLE_BYTES:
        return Check(CheckStatus.WRONG, "disk", text, "free some space; below this Corral accepts no work")
    if free < _LITTLE_BYTES:
        return Check(CheckStatus.WATCH, "disk", text, "free some space, or set APP_RETENTION_DAYS")
    return Check(CheckStatus.FINE, "disk", text)


def _open_files(settings: Settings) -> Check:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.runs_per_process * _FILES_PER_RUN + 100
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        remedy = f"`ulimit -n {wanted}` before starting, or a lower APP_RUNS_PER_PROCESS"
        return Check(CheckStatus.WATCH, "open files", f"{allowed} allowed, {wanted} may be needed", remedy)
    return Check(CheckStatus.FINE, "open files", f"{allowed} allowed, at most {wanted} needed")


def _browser(settings: Settings) -> Check:
    named = settings.browser_executable
    if named and not os.access(named, os.X_OK):
        return Check(CheckStatus.WATCH, "browser", f"{named} cannot be executed", "correct APP_BROWSER_EXECUTABLE")
    installed = named or find_chromium() or _find_playwright_browser()
    if installed is None:
        remedy = "`playwright install chromium`, or any Chromium, for pages that need a browser"
        return Check(CheckStatus.INFO, "browser", "no Chromium found", remedy)
    if not is_sandboxed():
        finding = f"Chromium at {installed} runs without its sandbox, which it denies to root"
        return Check(CheckStatus.WATCH, "browser", finding, "run Corral as another user; pages may run hostile code")
    return Check(CheckStatus.INFO, "browser", f"Chromium at {installed}")


def _find_playwright_browser() -> str | None:
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    folder = Path(named) if named else Path.home() / ".cache" / "ms-playwright"
    browsers = sorted(folder.glob("chromium*-*")) if folder.is_dir() else []
    return str(browsers[-1]) if browsers else None


def _token(settings: Settings) -> Check:
    if settings.write_token is None:
        return Check(
            CheckStatus.INFO, "token", "none: the API binds loopback only", "APP_WRITE_TOKEN opens it to others"
        )
    return Check(CheckStatus.FINE, "token", "configured")


async def _database(settings: Settings) -> AsyncIterator[Check]:
    """Check the database read-only. Only a sound database with the current schema is examined further."""

    try:
        path = database_file(settings)
        version = version_of(settings.store_url)
        if version is None:
            what = "the PostgreSQL database is empty" if path is None else f"{path} is not there yet"
            yield Check(CheckStatus.INFO, "database", what, "the first start creates its tables")
            return
        verdict = _server(version) if path is None else _file(path, version)
        yield verdict
        if path is not None and (migration := _check_unfinished_migration(path)) is not None:
            yield migration
        if verdict.verdict is CheckStatus.FINE:
            async for check in _contents(settings):
                yield check
    except StorageError as error:
        yield Check(CheckStatus.WRONG, "database", error.message, error.hint or "")


def _file(path: Path, version: str) -> Check:

    try:
        answers = sqlite_file.read_quietly(path, lambda db: db.execute("PRAGMA integrity_check(5)").fetchall())
    except pysqlite3.Error as error:
        raise sqlite_file.translate_error(error, path) from error
    if answers != [("ok",)]:
        remedy = "restore a backup; stop every `corral` on it first"
        return Check(
            CheckStatus.WRONG, "database", f"{path} is damaged: {'; '.join(row[0] for row in answers)}", remedy
        )
    size = path.stat().st_size / _MIB
    return _check_version(version, f"{path} is sound ({size:.1f} MiB)", str(path))


def _check_unfinished_migration(path: Path) -> Check | None:

    mark = sqlite_file.read_quietly(path, migration_marks.of_file)
    if mark is None or mark.state is not migration_marks.MoveState.MOVING:
        return None
    remedy = "run `corral db migrate-to` again to complete it; until then this database stays in use"
    return Check(CheckStatus.INFO, "move", f"a migration to {mark.to} was begun on {mark.at} and not completed", remedy)


def _server(version: str) -> Check:
    return _check_version(version, "PostgreSQL answers", "the PostgreSQL database")


def _check_version(version: str, summary: str, where: str) -> Check:

    text = f"{summary}, schema version {version}"
    if schema.check_version(version, where):
        return Check(CheckStatus.FINE, "database", text)
    return Check(CheckStatus.WATCH, "database", text, f"the next start brings it to {schema.HEAD}; back it up first")


async def _contents(settings: Settings) -> AsyncIterator[Check]:
    async with read_store(settings) as store:
        if database_file(settings) is None:
            await store.ping()
            yield Check(CheckStatus.FINE, "writes", "PostgreSQL accepts them")
        yield await _vault(settings, store)
        findings = await store.maintenance.audit()
        counts = await store.runs.count_live()
    for finding in findings:
        yield Check(CheckStatus.WRONG, finding.rule, f"{finding.subject}: {finding.what}", finding.remedy)
    if not findings:
        yield Check(CheckStatus.FINE, "invariants", "every rule about runs, events and records holds")
    yield _work(counts)


async def _vault(settings: Settings, store: Store) -> Check:

    try:
        await check_vault_keys(settings, store)
    except BadConfiguration as error:
        what, _, fix = error.problems[0].partition("; ")
        return Check(CheckStatus.WRONG, "vault", what, fix)
    count = sum((await store.sessions.count_keys()).values())
    return Check(
        CheckStatus.FINE, "vault", f"the key of {count} stored logins is there" if count else "nothing is sealed"
    )


def _work(counts: dict[str, int]) -> Check:
    states = ", ".join(f"{count} {state}" for state, count in counts.items())
    if counts.get("queued") and not counts.get("running"):
        return Check(
            CheckStatus.INFO,
            "work",
            states,
            "if this does not change, no node is running: start one with `corral up` or `corral worker`",
        )
    return Check(CheckStatus.INFO, "work", states)
