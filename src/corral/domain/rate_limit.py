"""Token buckets: how many requests a client may send before it has to wait."""

from collections import OrderedDict
from dataclasses import dataclass

# Beyond this number, the least recently seen client is forgotten; it starts again with a full bucket.
MAX_CLIENTS = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    per_second: float  # 0 is no limit
    burst: int


class RateLimiter:
    """One bucket per client. The caller passes the time, from any clock that never goes back."""

    def __init__(self, rate: Rate, max_clients: int = MAX_CLIENTS) -> None:
        self._rate = rate
        self._max_clients = max_clients
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, now_s: float) -> float:
        """Count one request; return 0.0 if it may pass, otherwise the seconds until the next one may."""
        rate = self._rate
        if not rate.per_second:
            return 0.0
        tokens, since_s = self._buckets.pop(client, (float(rate.burst), now_s))
        tokens = min(float(rate.burst), tokens + (now_s - since_s) * rate.per_second)
        may_pass = tokens >= 1.0
        self._buckets[client] = (tokens - 1.0 if may_pass else tokens, now_s)
        if len(self._buckets) > self._max_clients:
            self._buckets.popitem(last=False)
        return 0.0 if may_pass else (1.0 - tokens) / rate.per_second
