"""How several workers share a crawl: one worker at a time reads each host. Pure decisions over values.

The crawl run itself is the coordinator: it has the number 0 and assigns hosts and concurrency. Its helpers are runs of
their own with the numbers 1, 2, … See docs/adr/0015.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

_Value = TypeVar("_Value")
COORDINATOR = 0  # the number of the crawl run itself
_HOSTS_PER_ROUND = 4


class Helper(NamedTuple):
    """A helper of a crawl, as stored."""

    number: int
    run_id: str
    epoch: int  # epoch of the claim that joined; 0 before it joins
    concurrency: int  # pages it may read concurrently now
    target_concurrency: int  # pages it should read concurrently
    wants_work: bool  # it has capacity for more pages
    is_done: bool  # it knows of nothing left to read


class HostAssignment(NamedTuple):
    assigned: dict[str, int]  # hosts that no worker is reading, each with its new helper
    handed_over: dict[str, int]  # hosts that the coordinator still reads, each with the helper that gets it afterwards


class ConcurrencySplit(NamedTuple):
    """How many pages each worker may read concurrently; the sum never exceeds the concurrency of the crawl."""

    own: int  # for the coordinator
    target: int  # for each helper, once the others have finished enough pages
    granted: dict[int, int]  # for each helper now


def host_key_of(host: str) -> str:
    """Return the key that host limits use for a host: see domain.hosts.limiter."""
    return host.removeprefix("www.")


def host_key_of_url(url: str) -> str:
    return host_key_of_template(url[url.find("://") + 3 :])


def host_key_of_template(name: str) -> str:
    """Return the host key of a template name, which begins with the host: see domain.crawl.templates.traps."""
    return host_key_of(name.partition("/")[0].partition("?")[0])


def drop_hosts(by_name: Mapping[str, _Value], hosts: Collection[str]) -> dict[str, _Value]:
    """Return the entries whose template, path or folder belongs to none of these hosts."""
    return {name: value for name, value in by_name.items() if host_key_of_template(name) not in hosts}


def assign_hosts(
    free: Sequence[str], busy: Sequence[str], wanting: Sequence[int], *, is_idle: bool = False
) -> HostAssignment:
    """Divide the hosts with pages to read among the helpers that want work and the coordinator.

    `free` hosts are assigned in turn, a few per round, because a faster worker asks again sooner. If no host is free,
    the coordinator hands over some of the `busy` hosts that it is reading. An idle coordinator is served first.
    """
    if not wanting:
        return HostAssignment({}, {})
    takers = [COORDINATOR, *wanting] if is_idle else [*wanting, COORDINATOR]
    round_ = free[: _HOSTS_PER_ROUND * len(takers)]
    turns = {host: takers[turn % len(takers)] for turn, host in enumerate(round_)}
    assigned = {host: number for host, number in turns.items() if number != COORDINATOR}
    if assigned:
        return HostAssignment(assigned, {})
    spare = len(busy) * len(wanting) // len(takers)
    leaving = busy[len(busy) - spare :]
    return HostAssignment({}, {host: wanting[turn % len(wanting)] for turn, host in enumerate(leaving)})


def split_concurrency(concurrency: int, own: int, helpers: Mapping[int, int]) -> ConcurrencySplit:
    """Divide the concurrency of a crawl fairly, without exceeding it at any moment.

    `own` is the coordinator's concurrency until it receives the answer, `helpers` that of each helper. A helper
    therefore gets more only after others have given up some of theirs.
    """
    fair = max(1, concurrency // (1 + len(helpers)))
    room = concurrency - own - sum(helpers.values())
    granted = {}
    for number, current in helpers.items():
        more = max(0, min(fair - current, room))
        room -= more
        granted[number] = current + more
    left = concurrency - sum(max(fair, current) for current in granted.values())
    return ConcurrencySplit(max(0, left), fair, granted)


def count_helpers_to_start(*, hosts: int, pending: int, workers: int, pages_each: int, active: int) -> int:
    """Return how many more helpers are worth starting: each needs its own host, and the coordinator keeps one."""
    max_helpers = min(workers - 1, pending // pages_each if pages_each else pending)
    return max(0, min(max_helpers - active, hosts - 1))
