"""Failures that the proxy or the site may have caused: other proxies' results for the same page decide."""

from collections import OrderedDict
from dataclasses import replace

from corral.domain.proxies.use import ProxyUse, Verdict

_MAX_AGE_S = 300.0
_MAX_PAGES = 10_000


class Suspicions:
    """Uses without a verdict yet, by page, of one node. Times are seconds of any clock."""

    def __init__(self) -> None:
        self._pending: OrderedDict[tuple[str, str], list[tuple[float, ProxyUse]]] = OrderedDict()
        self._answered: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()  # when, and by which proxy

    def judge(self, use: ProxyUse, now: float) -> list[ProxyUse]:
        """Return the uses that have a verdict now: this one, and those that it decides."""
        key = (use.site, use.subject)
        if use.verdict is Verdict.SUSPECT:
            at, by = self._answered.get(key, (float("-inf"), 0))
            if now - at < _MAX_AGE_S and by != use.id:
                return [replace(use, verdict=Verdict.FAULT)]
            self._keep(key, use, now)
            return []
        if use.verdict is not Verdict.GOOD:
            return [use]
        self._answered[key] = (now, use.id)
        self._answered.move_to_end(key)
        while len(self._answered) > _MAX_PAGES:
            self._answered.popitem(last=False)
        pending = self._pending.pop(key, [])
        # A proxy does not decide about its own earlier failure: the site may have been slow then.
        return [
            use,
            *(replace(each, verdict=Verdict.NOTHING if each.id == use.id else Verdict.FAULT) for _, each in pending),
        ]

    def expire(self, now: float) -> list[ProxyUse]:
        """Return old uses that no other use decided, with the verdict `nothing`."""
        old = []
        while self._pending:
            key, uses = next(iter(self._pending.items()))
            if uses[-1][0] > now - _MAX_AGE_S and len(self._pending) <= _MAX_PAGES:
                break
            old += [replace(each, verdict=Verdict.NOTHING) for _, each in uses]
            del self._pending[key]
        return old

    def _keep(self, key: tuple[str, str], use: ProxyUse, now: float) -> None:
        self._pending.setdefault(key, []).append((now, use))
        self._pending.move_to_end(key)
