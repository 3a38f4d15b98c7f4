"""A small web: several hosts whose pages lead to each other, and who asked each of them for what, and when."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tests.engine.crawl.site import Page, Site, serve_site, words_of


class Visit(NamedTuple):
    host: int
    path: str
    began: float
    ended: float
    process: int  # that asked; 0 where it is gone


@dataclass
class Web:
    sites: list[Site]
    visits: list[Visit] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_released: threading.Event = field(default_factory=threading.Event)  # until then, held pages take long

    def hold(self, seconds: float) -> None:
        """Have each page take this long until the web is released."""
        for site in self.sites:
            for page in site.pages.values():
                page.on_ask = lambda: self.is_released.wait(seconds)

    @property
    def pages(self) -> list[Visit]:
        return [visit for visit in self.visits if visit.path != "/robots.txt"]

    def depths(self) -> dict[str, int]:
        """Every page by the shortest way from the first."""
        links = {
            site.url + path: [link if "://" in link else site.url + link for link in page.links]
            for site in self.sites
            for path, page in site.pages.items()
        }
        edge = [f"{self.sites[0].url}/0"]
        found = dict.fromkeys(edge, 0)
        while edge:
            below = {link: found[url] + 1 for url in edge for link in links[url] if link not in found}
            found |= below
            edge = list(below)
        return found

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

    def list_shared_hosts(self) -> list[tuple[Visit, Visit]]:
        """Visits of one host, by different processes, at the same time."""
        return [
            (one, other)
            for one, other in combinations(self.pages, 2)
            if one.host == other.host and one.process != other.process and one.process and other.process
            if one.began < other.ended and other.began < one.ended
        ]


@contextmanager
def a_web(
    hosts: int, pages: int, *, takes_s: float = 0.01, asks: Callable[[], list[int]] = list, links_out: bool = True
) -> Iterator[Web]:
    """So many hosts with so many pages each; `asks` are the processes that may ask."""
    with ExitStack() as stack:
        sites = [stack.enter_context(serve_site(_Watched({}))) for _ in range(hosts)]
        web = Web(list(sites))
        for host, site in enumerate(sites):
            assert isinstance(site, _Watched)
            site.web, site.number, site.asks = web, host, asks
            for number in range(pages):
                links = [f"/{4 * number + each}" for each in range(1, 5) if 4 * number + each < pages]
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

    def came(self, path: str, port: int) -> Callable[[], None]:
        began = time.monotonic()
        process = self.known.get(port) or process_at(port, self.asks())
        self.known[port] = process

        def record_visit() -> None:
            assert self.web is not None
            is_there = Path(f"/proc/{process}").exists()  # else nobody waits for this answer any more
            with self.web.lock:
                self.web.visits.append(Visit(self.number, path, began, time.monotonic(), process if is_there else 0))

        return record_visit


def process_at(port: int, among: list[int]) -> int:
    """Which of these processes has the connection that begins at this port; 0 where none has."""
    for _ in range(10 if among else 0):  # what the system tells of its connections is not of one moment
        if (found := _process_at(port, among)) != 0:
            return found
    return 0


def _process_at(port: int, among: list[int]) -> int:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {f"socket:[{row[9]}]" for row in rows if int(row[1].partition(":")[2], 16) == port}
    for pid in among:
        try:
            held = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue
        if inodes & held:
            return pid
    return 0


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose working directory is this folder."""
    return [int(each.parent.name) for each in Path("/proc").glob("[0-9]*/cwd") if _is_link_to(each, folder)]


def _is_link_to(link: Path, folder: Path) -> bool:
    try:
        return link.readlink() == folder
    except OSError:
        return False  # the process has ended, or belongs to another user
