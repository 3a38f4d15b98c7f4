"""Fields that are empty in most records of a run, which usually indicates a wrong selector."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from corral.domain.fields.spec import FieldSpec


class FieldCount:
    """Counts how often each requested field is empty, over any number of records."""

    def __init__(self, fields_for: Callable[[str], Sequence[FieldSpec]]) -> None:
        """Count the fields that `fields_for` returns for the page at a URL."""
        self._fields_for = fields_for
        self._requested: Counter[str] = Counter()
        self._empty: Counter[str] = Counter()

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            names = [spec.name for spec in self._fields_for(str(record.get("url", ""))) if not spec.optional]
            if not any(name in record for name in names):
                continue  # a saved file
            self._requested.update(names)
            self._empty.update(name for name in names if record.get(name) in (None, "", [], {}))

    def mostly_empty(self) -> dict[str, int]:
        """Return the fields that more than half of the records lack, with the number of such records."""
        return {name: count for name, count in self._empty.items() if 2 * count > self._requested[name]}
