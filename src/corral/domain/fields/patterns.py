"""Regular expressions of the user: checked at submission, and compiled in the same way everywhere."""

import re
import warnings

from corral.domain.errors import BadInput

MAX_PATTERN_CHARS = 1_000


def check_pattern(pattern: str, *, field: str = "fields") -> str:
    """Return the pattern; raise BadInput with the position of the error if it cannot be compiled."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise _bad(f"the pattern has {len(pattern)} characters, more than {MAX_PATTERN_CHARS}", "shorten it", field)
    if not pattern:
        raise _bad("the pattern is empty", "write one, or leave `regex` out", field)
    try:
        compile_pattern(pattern)
    except re.error as problem:
        where = "" if problem.pos is None else f" at position {problem.pos}"
        raise _bad(
            f"the pattern cannot be read{where}: {problem.msg}", "it is a Python regular expression", field
        ) from None
    except (RecursionError, OverflowError):
        raise _bad("the pattern is nested too deeply or repeats too often", "simplify it", field) from None
    return pattern


def compile_pattern(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # A warning that the meaning of `[[` may change in a later version is no reason to refuse a job.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(pattern)


def _bad(message: str, hint: str, field: str) -> BadInput:
    return BadInput(message, field=field, hint=hint, code="bad_pattern")
