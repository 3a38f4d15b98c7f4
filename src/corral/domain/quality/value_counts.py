"""Counts by name."""

from operator import itemgetter


class ValueCounts(dict[str, float]):
    """A dictionary of counts, 0 for a missing name.

    Profiles are created for every page, and creating a `collections.Counter` takes longer than counting in it.
    """

    def __missing__(self, name: str) -> float:
        return 0

    def add(self, other: "ValueCounts") -> None:
        for name, count in other.items():
            self[name] += count

    def most_common(self, limit: int) -> list[tuple[str, float]]:
        """Return the most frequent names with their counts; among equal counts, the first added comes first."""
        return sorted(self.items(), key=itemgetter(1), reverse=True)[:limit]
