"""Per-node quota of a host's slots, split as soon as a second node uses the host.

A node alone at a host gets as many slots as it wants. Several nodes get equal shares; what one does not want goes to
the others. With fewer slots than nodes, or with a pause between requests, only some nodes have slots at a time: the one
that has waited longest is next.
"""

from collections.abc import Sequence
from typing import NamedTuple

# The quota of a node that has not renewed it for this long is free.
QUOTA_S = 10.0
RENEW_EVERY_S = 3.0
# How long a node keeps slots that others wait for; at least several pauses.
HOLD_S = 2.0
_HOLD_PAUSES = 3
# Slots beyond what a node wants now. Few, so that the next node finds free ones; more are one request away.
_SOME = 4


class QuotaRequest(NamedTuple):
    host_key: str
    most: int  # by all nodes together
    in_use: int
    wanted: int  # in all, what is in use among them
    pause_s: float = 0.0  # between requests; with one, there is one node at a time

    @property
    def hold_s(self) -> float:
        return max(HOLD_S, _HOLD_PAUSES * self.pause_s)


class HostQuota(NamedTuple):
    """What the store knows of one node's."""

    owner: str
    slots: int
    wanted: int
    has_pause: bool
    since_s: float  # that it has some, or has none

    @property
    def is_waiting(self) -> bool:
        return not self.slots and self.wanted > 0


class QuotaGrant(NamedTuple):
    """`turns` may be taken from now on; where more are in use, none until enough of them have ended."""

    host_key: str
    slots: int
    is_contested: bool = False  # by another node


def compute_quota(owner: str, ask: QuotaRequest, mine: HostQuota | None, others: Sequence[HostQuota]) -> int:
    """Compute the slots of this node. All nodes together never have more than `most`."""
    others = [each for each in others if each.slots or each.wanted]
    most = min(ask.most, ask.wanted + _SOME)
    if not others:
        return most
    free = max(0, ask.most - sum(each.slots for each in others))
    is_alone = ask.pause_s > 0 or any(each.has_pause for each in others)
    room = 1 if is_alone else min(ask.most, 1 + len(others))  # nodes with slots at a time
    if not _is_its_turn(ask, mine, others, room):
        return 0
    if is_alone:
        return min(free, most)
    due = _divide(ask.most, {owner: ask.wanted, **{each.owner: each.wanted for each in others}})
    is_rest_free = all(each.slots >= due[each.owner] for each in others)
    rest = ask.most - sum(due.values()) if is_rest_free else 0
    return min(free, most, max(1, due[owner] + rest))


def _divide(slots: int, wanted: dict[str, int]) -> dict[str, int]:
    """Split evenly, to no node more than it wants. Every node computes the same result."""
    due: dict[str, int] = {}
    for left, (owner, count) in zip(range(len(wanted), 0, -1), sorted(wanted.items(), key=_by_want), strict=True):
        due[owner] = min(count, slots // left)
        slots -= due[owner]
    return due


def _by_want(each: tuple[str, int]) -> tuple[int, str]:
    return each[1], each[0]


def _is_its_turn(ask: QuotaRequest, mine: HostQuota | None, others: Sequence[HostQuota], room: int) -> bool:
    """Where there is not room for all: who has some keeps it for a while, who has waited longest is next."""
    holding = [each for each in others if each.slots]
    waiting = [each for each in others if each.is_waiting]
    if mine is not None and mine.slots:
        if len(holding) >= room:  # too many have some: those who came last give way
            return sum(_order(each) > _order(mine) for each in holding) < room
        is_crowded = 1 + len(holding) + len(waiting) > room
        is_longest = all(_order(mine) > _order(each) for each in holding)
        return not (waiting and is_crowded and is_longest and mine.since_s > ask.hold_s)
    before = len(waiting) if mine is None else sum(_order(each) > _order(mine) for each in waiting)
    return len(holding) + before < room


def _order(quota: HostQuota) -> tuple[float, str]:
    """Those with the larger one came earlier."""
    return quota.since_s, quota.owner
