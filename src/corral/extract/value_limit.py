"""The maximum length of a value. Longer values are cut, and the result lists their fields."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from corral.domain.runs.completeness.flaws import VALUE_CUT

DEFAULT_CHARS = 1_000_000
_TEXTS = {str}
# Extractors are many and small functions; the limit of a reading is the same for all of them.
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
    """What extractors keep: a little more than the limit, so that a cut value differs from one that just fits.

    Two, because a space at the end of the kept text is stripped.
    """
    return _limit.get() + 2


def cut_record(record: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The record within the limit; by field, the problem where something of it was cut."""
    most = max_chars()
    fitting = {name: _cut(value, most) for name, value in record.items()}
    return fitting, {name: VALUE_CUT for name, value in record.items() if fitting[name] is not value}


def _cut(value: Any, most: int) -> Any:
    """The same object where nothing has to be cut."""
    if isinstance(value, str):
        return value[:most] if len(value) > most else value
    if isinstance(value, list):
        if not value or (set(map(type, value)) == _TEXTS and max(map(len, value)) <= most):  # nearly all lists
            return value
        fitting = [_cut(each, most) for each in value]
        return value if all(one is other for one, other in zip(fitting, value, strict=True)) else fitting
    if isinstance(value, dict):
        within = {name: _cut(each, most) for name, each in value.items()}
        return value if all(within[name] is each for name, each in value.items()) else within
    return value
