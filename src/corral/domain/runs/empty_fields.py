"""Fields that are empty on most records of a run: usually the sign of a wrong selector."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class FieldCount:
    """How often each asked field is empty, over any number of records."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._empty: Counter[str] = Counter()
        self.records = 0

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            if not any(name in record for name in self._names):
                continue  # a saved file
            self.records += 1
            self._empty.update(name for name in self._names if record.get(name) in (None, "", [], {}))

    def mostly_empty(self) -> dict[str, int]:
        """The fields that more than half of the records lack, with how many do."""
        return {name: self._empty[name] for name in self._names if 2 * self._empty[name] > self.records}
