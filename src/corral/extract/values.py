"""Clean values of pages so that every database and JSON writer accepts them."""

import math
from typing import Any

from corral.extract.charset import clean_text
from corral.extract.value_limit import capture_limit

_MAX_DEPTH = 32
_MAX_ENTRIES = 10_000


def storable(value: Any, depth: int = 0) -> Any:
    """Return the value without what a database rejects.

    Texts lose NUL and surrogates, integers beyond 64 bits become text, NaN, infinities and deep nesting become None.
    """
    if isinstance(value, str):
        return clean_text(value[: capture_limit()])
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)[:100]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [storable(item, depth + 1) for item in value[:_MAX_ENTRIES]]
    if isinstance(value, dict):
        pairs = list(value.items())[:_MAX_ENTRIES]
        return {clean_text(str(key)[:1000]): storable(item, depth + 1) for key, item in pairs}
    return None
