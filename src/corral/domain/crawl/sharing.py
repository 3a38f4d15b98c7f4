"""How a crawl is divided among workers: by its hosts, each of which is with one of them at a time. Decided over values.

The crawl itself has the share 0, and deals; its helpers have the others. See docs/adr/0015.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

OWN = 0  # the share of the crawl itself
_AT_A_TIME = 4  # places


class Share(NamedTuple):
    """What one helper has of a crawl."""

    number: int
    holder: str  # the run that helps
    epoch: int  # of its claim that joined; 0 where none has
    at_once: int  # pages it may have under way
    target: int  # and how many it should
    is_hungry: bool  # it could do more than it has
    is_done: bool  # it has nothing to do, as far as it knows


class Deal(NamedTuple):
    given: dict[str, int]  # places that nobody is at, and whose they are from now on
    moved: dict[str, int]  # places the crawl is at, and whose they are once it has left them


class Allotment(NamedTuple):
    """How many pages each may read at once; together never more than the plan says."""

    own: int
    target: int  # what a helper should have
    granted: dict[int, int]  # and may have now: others have to finish theirs first


def place_of_host(host: str) -> str:
    """What is with one worker at a time: as the gates of hosts have it, see domain.hosts.limiter."""
    return host.removeprefix("www.")


def place_in(url: str) -> str:
    return place_of_template(url[url.find("://") + 3 :])


def place_of_template(name: str) -> str:
    """See domain.crawl.traps: it begins with the host."""
    return place_of_host(name.partition("/")[0].partition("?")[0])


def deal(free: Sequence[str], busy: Sequence[str], hungry: Sequence[int], *, is_idle: bool = False) -> Deal:
    """Who gets what of the places with pages to read, of which the crawl itself is at some.

    Each that is hungry gets one after the other, and so does the crawl; a few at a time, for whoever gets on faster
    asks sooner. Where all places are the crawl's, it gives up some of them. One that is at no place comes first itself.
    """
    if not hungry:
        return Deal({}, {})
    takers = [OWN, *hungry] if is_idle else [*hungry, OWN]
    given = {place: takers[turn % len(takers)] for turn, place in enumerate(free[: _AT_A_TIME * len(takers)])}
    given = {place: share for place, share in given.items() if share != OWN}
    if given:
        return Deal(given, {})
    spare = len(busy) * len(hungry) // len(takers)
    return Deal({}, {place: hungry[turn % len(hungry)] for turn, place in enumerate(busy[len(busy) - spare :])})


def allot(concurrency: int, under_way: int, helpers: Mapping[int, int]) -> Allotment:
    """`under_way` is what the crawl itself may have until it hears the answer, `helpers` what each of them may."""
    fair = max(1, concurrency // (1 + len(helpers)))
    room = concurrency - under_way - sum(helpers.values())
    granted = {}
    for number, at_once in helpers.items():
        more = max(0, min(fair - at_once, room))
        room -= more
        granted[number] = at_once + more
    own = concurrency - sum(max(fair, at_once) for at_once in granted.values())
    return Allotment(max(0, own), fair, granted)


def helpers_wanted(*, places: int, pending: int, workers: int, pages_each: int, there: int) -> int:
    """How many more are worth asking for: each needs a place of its own, and the crawl keeps one."""
    most = min(workers - 1, pending // pages_each if pages_each else pending)
    return max(0, min(most - there, places - 1))
