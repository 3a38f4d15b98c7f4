"""A mergeable summary of positive numbers: count, mean, spread and extremes of their logarithms."""

import math
from collections.abc import Sequence
from typing import NamedTuple

_LEAST_DEVIATION = 0.1


class Distribution(NamedTuple):
    number: float = 0.0  # of values
    total: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: float) -> "Distribution":
        log = math.log(max(value, 1e-9))
        single = Distribution(1.0, log, log * log, log, log)
        return self.merge(single) if self.number else single

    def merge(self, other: "Distribution") -> "Distribution":
        # Fast path: most distributions of most fields are empty.
        if not other.number or not self.number:
            return self if self.number else other
        return Distribution(
            self.number + other.number,
            self.total + other.total,
            self.squares + other.squares,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def scale(self, factor: float) -> "Distribution":
        return Distribution(self.number * factor, self.total * factor, self.squares * factor, self.low, self.high)

    @property
    def mean(self) -> float:
        return self.total / self.number if self.number else 0.0

    @property
    def typical(self) -> float:
        """Return the geometric mean."""
        return math.exp(self.mean)

    @property
    def deviation(self) -> float:
        if self.number < 2:
            return _LEAST_DEVIATION
        return math.sqrt(max(self.squares / self.number - self.mean**2, _LEAST_DEVIATION**2))

    def is_far_from(self, history: "Distribution", factor: float) -> bool:
        """Return whether these numbers are off by at least the factor, and by more than chance explains."""
        if not self.number or not history.number:
            return False
        shift, limit = abs(self.mean - history.mean), math.log(factor)
        if self.number < 3:  # too few for a mean: compare with the extremes
            beyond = max(self.high - history.high, history.low - self.low)
            return beyond > limit and shift > 4 * history.deviation
        return shift > max(limit, 4 * history.deviation / math.sqrt(self.number))

    def document(self) -> list[float]:
        return [round(each, 6) for each in self] if self.number else []

    @classmethod
    def of(cls, document: Sequence[float]) -> "Distribution":
        return cls(*document) if document else NO_VALUES


NO_VALUES = Distribution()
