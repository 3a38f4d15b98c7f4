"""The maximum length of a value. Longer values are cut, and the result lists their fields."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from corral.domain.runs.completeness.flaws import VALUE_CUT

DEFAULT_CHARS = 1_000_000
_TEXTS = {str}
# A context variable spares the many small extractors a parameter; all of one reading share the limit.
_limit: ContextVar[int] = ContextVar("max_value_chars", default=DEFAULT_CHARS)


@contextmanager
def limit_values(chars: int) -> Iterator[None]:
    token = _limit.set(chars)
    try:
        yield
    finally:
        _limit.reset(token)


def max_chars() -> int:
    return _limit.get()


def capture_limit() -> int:
    """Return how many characters extractors keep: slightly more than the limit.

    A value that was cut then differs from one that just fits. The margin is two, because one space at the end of the
    text may be stripped.
    """
    return _limit.get() + 2


def cut_record(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the record with its values cut to the limit, and a problem for each field that was cut."""
    limit = max_chars()
    fitting = {name: _cut(value, limit) for name, value in record.items()}
    return fitting, {name: VALUE_CUT for name, value in record.items() if fitting[name] is not value}


def _cut(value: Any, limit: int) -> Any:
    """Cut the texts in a value; return the same object if nothing has to be cut."""
    if isinstance(value, str):
        return value[:limit] if len(value) > limit else value
    if isinstance(value, list):
        if not value or (set(map(type, value)) == _TEXTS and max(map(len, value)) <= limit):  # nearly all lists
            return value
        fitting = [_cut(entry, limit) for entry in value]
        return value if all(new is old for new, old in zip(fitting, value, strict=True)) else fitting
    if isinstance(value, dict):
        within = {name: _cut(entry, limit) for name, entry in value.items()}
        return value if all(within[name] is entry for name, entry in value.items()) else within
    return value
