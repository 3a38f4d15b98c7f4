"""The budget of a job or a site: how much one run may use before it ends."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from corral.domain.errors import BadInput

_MAX_LIMIT = 1e15


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper limits of one run; None is no limit. Requests in flight when a limit is reached are completed."""

    requests: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    browser_seconds: float | None = None
    cost: float | None = None  # money, by the prices of the settings

    @property
    def is_empty(self) -> bool:
        return not self.document()

    def document(self) -> dict[str, float]:
        return {name: value for name in NAMES if (value := getattr(self, name)) is not None}

    @staticmethod
    def of(value: object, field: str = "budget") -> "Budget":
        """Parse a budget; BadInput names the first problem."""
        if value is None:
            return Budget()
        for path, message in find_problems(value):
            raise BadInput(message, field=f"{field}.{path}" if path else field, hint=HINT)
        assert isinstance(value, Mapping)
        return Budget(**value)


NO_BUDGET = Budget()
NAMES = tuple(each.name for each in fields(Budget))
_WHOLE = frozenset({"requests", "bytes"})
HINT = f"limits: {', '.join(NAMES)}, such as {{requests: 500, cost: 0.2}}"


def find_problems(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and the problem of each wrong limit; the empty name is the budget as a whole."""
    if not isinstance(value, Mapping):
        yield "", "a budget is a mapping of limits"
        return
    for name, limit in value.items():
        if name not in NAMES:
            yield str(name)[:80], f"{str(name)[:80]!r} is not a limit of a budget ({', '.join(NAMES)})"
        elif isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= _MAX_LIMIT:
            yield str(name), "must be a number above 0"
        elif name in _WHOLE and limit != int(limit):
            yield str(name), "must be a whole number"
