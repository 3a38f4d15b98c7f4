"""A regular expression of the user's: checked when the job is written, searched for in what was found."""

import re
import warnings

from corral.domain.errors import BadInput
from corral.extract.page import normalize_space

MAX_PATTERN_CHARS = 1_000
MAX_MATCHES = 10_000


def check_pattern(pattern: str, *, field: str = "fields") -> str:
    """The pattern as given, or BadInput saying where it cannot be read."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _bad(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN_CHARS}", "shorten it", field)
    if not pattern:
        raise _bad("the pattern is empty", "write one, or leave `regex` out", field)
    try:
        _compile(pattern)
    except re.error as problem:
        where = "" if problem.pos is None else f" at position {problem.pos}"
        raise _bad(
            f"the pattern cannot be read{where}: {problem.msg}", "it is a Python regular expression", field
        ) from None
    except (RecursionError, OverflowError):
        raise _bad("the pattern is nested too deeply or repeats too often", "simplify it", field) from None
    return pattern


def search_text(pattern: str, text: str, limit: int = MAX_MATCHES) -> list[str]:
    """Every match: its first group where it has one, else all of it. It may take for ever: bound its time."""
    values: list[str] = []
    for match in _compile(pattern).finditer(text):
        value = normalize_space(match[1] if match.re.groups else match[0])
        if value:
            values.append(value)
        if len(values) >= limit:
            break
    return values


def _compile(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # Of a meaning that may change one day, such as `[[`: not worth refusing a job for.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(pattern)


def _bad(message: str, hint: str, field: str) -> BadInput:
    return BadInput(message, field=field, hint=hint, code="bad_pattern")
