"""How often each name was seen."""

from operator import itemgetter


class ValueCounts(dict[str, float]):
    """A dictionary of counts; a name that was never seen has none.

    Profiles are made and read for every page, and creating a `collections.Counter` takes longer than counting in it.
    """

    def __missing__(self, name: str) -> float:
        return 0

    def add(self, other: "ValueCounts") -> None:
        for name, count in other.items():
            self[name] += count

    def most_common(self, limit: int) -> list[tuple[str, float]]:
        """The names that were seen most, with their counts; of equal counts the one that was seen first."""
        return sorted(self.items(), key=itemgetter(1), reverse=True)[:limit]
