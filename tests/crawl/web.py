"""A small web: several hosts whose pages lead to each other, and who asked each of them for what, and when."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tests.crawl.site import Page, Site, served, words_of


class Visit(NamedTuple):
    host: int
    path: str
    began: float
    ended: float
    process: int  # that asked, where it is known


@dataclass
class Web:
    sites: list[Site]
    visits: list[Visit] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pages(self) -> list[Visit]:
        return [visit for visit in self.visits if visit.path != "/robots.txt"]

    @property
    def urls(self) -> set[str]:
        return {site.url + path for site in self.sites for path in site.pages}

    def read_twice(self) -> int:
        return len(self.pages) - len({(visit.host, visit.path) for visit in self.pages})

    def processes(self) -> "Counter[int]":
        return Counter(visit.process for visit in self.pages)

    def most_at_once(self) -> int:
        edges = sorted([(visit.began, 1) for visit in self.pages] + [(visit.ended, -1) for visit in self.pages])
        most = now = 0
        for _, change in edges:
            now += change
            most = max(most, now)
        return most

    def shared_hosts(self) -> list[tuple[Visit, Visit]]:
        """Visits of one host, by different processes, at the same time."""
        return [
            (one, other)
            for one, other in combinations(self.pages, 2)
            if one.host == other.host and one.process != other.process
            if one.began < other.ended and other.began < one.ended
        ]


@contextmanager
def a_web(
    hosts: int, pages: int, *, takes_s: float = 0.01, asks: Callable[[], list[int]] = list, links_out: bool = True
) -> Iterator[Web]:
    """So many hosts with so many pages each; `asks` are the processes that may ask."""
    with ExitStack() as stack:
        sites = [stack.enter_context(served(_Watched({}))) for _ in range(hosts)]
        web = Web(list(sites))
        for host, site in enumerate(sites):
            assert isinstance(site, _Watched)
            site.web, site.number, site.asks = web, host, asks
            for number in range(pages):
                links = [f"/{2 * number + each}" for each in (1, 2) if 2 * number + each < pages]
                if links_out:
                    links.append(f"{sites[(host + 1) % hosts].url}/{number}")
                # Every host has words of its own: else they would be taken for copies of one.
                text = words_of(f"{host} {number}", 30)
                site.pages[f"/{number}"] = Page(links, text=text, takes_s=takes_s)
        yield web


@dataclass
class _Watched(Site):
    web: Web | None = None
    number: int = 0
    asks: Callable[[], list[int]] = list
    known: dict[int, int] = field(default_factory=dict)

    def came(self, path: str, port: int, began: float) -> None:
        assert self.web is not None
        process = self.known.get(port) or process_at(port, self.asks())
        self.known[port] = process
        with self.web.lock:
            self.web.visits.append(Visit(self.number, path, began, time.monotonic(), process))


def process_at(port: int, among: list[int]) -> int:
    """Which of these processes has the connection that begins at this port; 0 where none has."""
    for _ in range(50 if among else 0):  # what the system tells of its connections is not of one moment
        if (found := _process_at(port, among)) != 0:
            return found
    return 0


def _process_at(port: int, among: list[int]) -> int:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {f"socket:[{row[9]}]" for row in rows if int(row[1].partition(":")[2], 16) == port}
    for pid in among:
        try:
            held = {os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
        if inodes & held:
            return pid
    return 0


def children_of(pids: list[int]) -> list[int]:
    """The processes that these have started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent in pids:
            found.append(int(stat.parent.name))
    return found
