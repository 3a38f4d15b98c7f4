"""The order in which the pages of one crawl ask one host.

A host that makes pages wait sends some of them back to the frontier. Until the frontier knows of them, it may hand out
pages that come later in the order, and other visits are already on their way to the host. Neither may overtake the
pages that were sent back: they are sent back as well.
"""

import math
from typing import NamedTuple

from corral.domain.runs.outcome import Failed


class _Refused(NamedTuple):
    failure: Failed
    visits: frozenset[int]  # that the host sent away: all that began later are refused,
    until: float = math.inf  # up to the last one that began before the frontier was told


class HostOrder:
    """Of the crawl that one worker executes. Visits have numbers in the order in which they begin."""

    def __init__(self) -> None:
        self._latest = 0
        self._visits: dict[int, None] = {}  # that have begun and not ended, in order
        self._refused: dict[str, list[_Refused]] = {}  # by host

    def begin(self, number: int) -> None:
        self._latest = number
        self._visits[number] = None

    def end(self, number: int) -> None:
        self._visits.pop(number, None)

    def refuse(self, host: str, number: int, failure: Failed) -> None:
        """The host has sent this visit away; those that began later must not overtake it."""
        known = self._refused.setdefault(host, [])
        if known and known[-1].until == math.inf:
            known[-1] = known[-1]._replace(visits=known[-1].visits | {number})
        else:
            known.append(_Refused(failure, frozenset((number,))))

    def refusal(self, host: str, number: int) -> Failed | None:
        """Why a visit may not ask this host; None where it may."""
        found = (each.failure for each in self._refused.get(host, ()) if min(each.visits) < number <= each.until)
        return next(found, None)

    def release(self) -> None:
        """The frontier is told of all visits that have ended: those that begin from now on are in order.

        A visit that was sent away and has not ended yet is not among them.
        """
        oldest = next(iter(self._visits), math.inf)
        for host, known in list(self._refused.items()):
            told = [
                each if each.visits & self._visits.keys() else each._replace(until=min(each.until, self._latest))
                for each in known
            ]
            left = [each for each in told if each.until >= oldest]
            if left:
                self._refused[host] = left
            else:
                del self._refused[host]
