"""Fields that are empty on most records of a run: usually the sign of a wrong selector."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from corral.domain.fields.spec import FieldSpec


class FieldCount:
    """How often each asked field is empty, over any number of records."""

    def __init__(self, fields_for: Callable[[str], Sequence[FieldSpec]]) -> None:
        """`fields_for` says which fields are asked of the page at an address."""
        self._fields_for = fields_for
        self._asked: Counter[str] = Counter()
        self._empty: Counter[str] = Counter()

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            names = [spec.name for spec in self._fields_for(str(record.get("url", ""))) if not spec.optional]
            if not any(name in record for name in names):
                continue  # a saved file
            self._asked.update(names)
            self._empty.update(name for name in names if record.get(name) in (None, "", [], {}))

    def mostly_empty(self) -> dict[str, int]:
        """The fields that more than half of the records lack, with how many do."""
        return {name: count for name, count in self._empty.items() if 2 * count > self._asked[name]}
