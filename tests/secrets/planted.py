"""What is planted, where it may stand, and how it is looked for."""

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.chaos.level import by_level

# Where the address of a job, and what a person wrote into a recipe, may stand.
DATA_COLUMNS = {("jobs", "document"), ("runs", "payload"), ("recipes", "document")}


def is_of_database(path: Path) -> bool:
    """A file of tables, SQLite's or PostgreSQL's, or its log of writes; its columns are looked at one by one, too."""
    return "corral.db" in path.name or not {"base", "pg_wal"}.isdisjoint(path.parts)


def canary(kind: str) -> str:
    return f"canary-{kind}-{secrets.token_hex(8)}"


@dataclass
class Planted:
    hidden: dict[str, str] = field(default_factory=dict)  # must be nowhere
    in_urls: dict[str, str] = field(default_factory=dict)  # may stand in the job's address
    passing: dict[str, str] = field(default_factory=dict)  # asked for once: told to whoever asked, and kept nowhere

    def secret(self, kind: str, value: str | None = None) -> str:
        return self._plant(self.hidden, kind, value)

    def in_url(self, kind: str) -> str:
        return self._plant(self.in_urls, kind)

    def once(self, kind: str) -> str:
        return self._plant(self.passing, kind)

    def _plant(self, place: dict[str, str], kind: str, value: str | None = None) -> str:
        assert kind not in self.kinds, f"{kind} is planted twice"
        place[kind] = value or canary(kind)
        return place[kind]

    @property
    def kinds(self) -> set[str]:
        return {*self.hidden, *self.in_urls, *self.passing}

    def find_in(self, text: str | bytes, *, urls: bool = True, asked: bool = True) -> list[str]:
        wanted = {**self.hidden, **(self.in_urls if urls else {}), **(self.passing if asked else {})}
        data = text.encode() if isinstance(text, str) else text
        return [kind for kind, value in wanted.items() if value.encode() in data]


@dataclass(frozen=True)
class Spoils:
    """Everything that was written or shown."""

    processes: str  # arguments and environments of what was started
    log: bytes
    terminal: str
    api: str
    rows: Mapping[tuple[str, str], str]
    folders: tuple[Path, ...]

    def hits(self, planted: Planted) -> dict[str, list[str]]:
        found = {
            "processes": planted.find_in(self.processes),
            "log": planted.find_in(self.log),
            "terminal": planted.find_in(self.terminal),
            "api": planted.find_in(self.api, urls=False, asked=False),
        }
        for (table, column), text in self.rows.items():
            found[f"{table}.{column}"] = planted.find_in(text, urls=(table, column) not in DATA_COLUMNS)
        for path in (path for folder in self.folders for path in folder.rglob("*") if path.is_file()):
            found[str(path)] = planted.find_in(path.read_bytes(), urls=not is_of_database(path))
        return {place: kinds for place, kinds in found.items() if kinds}


class Watcher(threading.Thread):
    """Arguments and environments of every process that is started, while it lives."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.done = threading.Event()
        self.seen: set[str] = set()
        self._own: set[bytes] = set()  # its command line; a process that has just ended has none
        self._met: set[tuple[int, bytes]] = set()  # who is met again is what it is; a copy is soon something else

    def run(self) -> None:
        # Each look goes through all processes of the machine.
        while not self.done.wait(by_level(30, 5) / 100):
            try:
                self._own.add(Path(f"/proc/{self._pid}/cmdline").read_bytes())
                below = psutil.Process(self._pid).children(recursive=True)
            except (psutil.Error, OSError):
                return
            for process in below:
                try:
                    told = [Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
                except OSError:
                    continue
                # Until it has become another program it is a copy of whoever starts it, environment and all.
                if told[0] in self._own:
                    continue
                is_settled = (process.pid, told[0]) in self._met
                self._met.add((process.pid, told[0]))
                self.seen |= {each.decode("utf-8", "replace") for each in (told if is_settled else told[:1])}
