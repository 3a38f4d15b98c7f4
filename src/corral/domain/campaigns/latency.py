"""Percentiles of page times in bounded memory: counts in buckets, each a tenth wider than the one before."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_RATIO = 1.1
_PERCENTILES = (50, 90, 95, 99)


@dataclass(slots=True)
class LatencyHistogram:
    counts: "Counter[int]" = field(default_factory=Counter)

    @staticmethod
    def of(counts: Mapping[str, int] | None) -> "LatencyHistogram":
        """Return the histogram of stored counts."""
        return LatencyHistogram(Counter({int(bucket): count for bucket, count in (counts or {}).items()}))

    def to_counts(self) -> dict[str, int]:
        return {str(bucket): count for bucket, count in self.counts.items()}

    def add(self, milliseconds: float) -> None:
        self.counts[math.ceil(math.log(max(1.0, milliseconds), _RATIO))] += 1

    def percentile_ms(self, percent: float) -> float:
        """Return an upper bound of the percentile, at most a tenth too high."""
        wanted, counted = percent / 100 * self.counts.total(), 0
        for bucket in sorted(self.counts):
            counted += self.counts[bucket]
            if counted >= wanted:
                return _RATIO**bucket
        return 0.0

    def document(self) -> dict[str, Any]:
        if not self.counts:
            return {}
        percentiles = {f"p{percent}_ms": round(self.percentile_ms(percent), 1) for percent in _PERCENTILES}
        return {**percentiles, "pages": self.counts.total()}


def p95_seconds(latency: Mapping[str, Any]) -> float | None:
    milliseconds = latency.get("p95_ms")
    return None if milliseconds is None else float(milliseconds) / 1000
