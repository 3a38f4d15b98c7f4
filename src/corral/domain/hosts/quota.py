"""Per-node quota of a host's slots, split as soon as a second node uses the host.

A node alone at a host gets as many slots as it wants. Several nodes get equal shares, and a share that one node does
not want goes to the others. With fewer slots than nodes, or with a pause between requests, only some nodes have slots
at a time; the node that has waited longest is next.
"""

from collections.abc import Sequence
from typing import NamedTuple

# A quota that its node has not renewed for this long is free.
QUOTA_S = 10.0
RENEW_EVERY_S = 3.0
# How long a node keeps slots that others wait for; at least this many pauses.
HOLD_S = 2.0
_HOLD_PAUSES = 3
# Slots granted beyond current demand. Few, so that the next node finds free ones; more take one request.
_SOME = 4


class QuotaRequest(NamedTuple):
    host_key: str
    limit: int  # slots of all nodes together
    in_use: int
    wanted: int  # total demand, including the slots in use
    pause_s: float = 0.0  # between requests; with a pause, only one node has slots at a time

    @property
    def hold_s(self) -> float:
        return max(HOLD_S, _HOLD_PAUSES * self.pause_s)


class HostQuota(NamedTuple):
    """The stored quota of one node."""

    owner: str
    slots: int
    wanted: int
    has_pause: bool
    since_s: float  # how long it has had some slots, or none

    @property
    def is_waiting(self) -> bool:
        return not self.slots and self.wanted > 0


class QuotaGrant(NamedTuple):
    """The node may use `slots` from now on; if more are in use, it starts nothing until enough of them have ended."""

    host_key: str
    slots: int
    is_contested: bool = False  # by another node


def compute_quota(owner: str, ask: QuotaRequest, mine: HostQuota | None, others: Sequence[HostQuota]) -> int:
    """Return the slots of this node. The quotas of all nodes together never exceed `limit`."""
    others = [each for each in others if each.slots or each.wanted]
    max_slots = min(ask.limit, ask.wanted + _SOME)
    if not others:
        return max_slots
    free = max(0, ask.limit - sum(each.slots for each in others))
    is_alone = ask.pause_s > 0 or any(each.has_pause for each in others)
    room = 1 if is_alone else min(ask.limit, 1 + len(others))  # nodes with slots at a time
    if not _is_its_turn(ask, mine, others, room):
        return 0
    if is_alone:
        return min(free, max_slots)
    due = _divide(ask.limit, {owner: ask.wanted, **{each.owner: each.wanted for each in others}})
    is_rest_free = all(each.slots >= due[each.owner] for each in others)
    rest = ask.limit - sum(due.values()) if is_rest_free else 0
    return min(free, max_slots, max(1, due[owner] + rest))


def _divide(slots: int, wanted: dict[str, int]) -> dict[str, int]:
    """Split evenly, but give no node more than it wants. Every node computes the same result."""
    due: dict[str, int] = {}
    for left, (owner, count) in zip(range(len(wanted), 0, -1), sorted(wanted.items(), key=_by_want), strict=True):
        due[owner] = min(count, slots // left)
        slots -= due[owner]
    return due


def _by_want(each: tuple[str, int]) -> tuple[int, str]:
    return each[1], each[0]


def _is_its_turn(ask: QuotaRequest, mine: HostQuota | None, others: Sequence[HostQuota], room: int) -> bool:
    """Return whether this node may have slots.

    If there are fewer slots than nodes, a node keeps its slots for a while, and the node that has waited longest is
    next.
    """
    holding = [each for each in others if each.slots]
    waiting = [each for each in others if each.is_waiting]
    if mine is not None and mine.slots:
        if len(holding) >= room:  # too many nodes have slots: the latest ones give way
            return sum(_order(each) > _order(mine) for each in holding) < room
        is_crowded = 1 + len(holding) + len(waiting) > room
        is_longest = all(_order(mine) > _order(each) for each in holding)
        return not (waiting and is_crowded and is_longest and mine.since_s > ask.hold_s)
    before = len(waiting) if mine is None else sum(_order(each) > _order(mine) for each in waiting)
    return len(holding) + before < room


def _order(quota: HostQuota) -> tuple[float, str]:
    """Sort key: a larger value came earlier."""
    return quota.since_s, quota.owner
