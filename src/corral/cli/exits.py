"""Exit codes, and the format of errors on the terminal: the problem, then the remedy; never a traceback."""

import sys

from corral.domain.errors import BadConfiguration, BadInput, CorralError, StorageUnusable
from corral.domain.runs.run import RunState

DONE = 0
FAILED = 1
BAD_ARGUMENTS = 2
PARTIAL = 3
BAD_CONFIGURATION = 78
INTERRUPTED = 130

# Errors that no change of the command line would avoid.
_NOT_THE_CALLERS_FAULT = frozenset({"unresolvable", "target_broken", "policy"})
_BY_STATE = {RunState.COMPLETED: DONE, RunState.PARTIAL: PARTIAL}


def code_of(error: CorralError) -> int:
    if isinstance(error, BadConfiguration | StorageUnusable):
        return BAD_CONFIGURATION
    if isinstance(error, BadInput) and error.code not in _NOT_THE_CALLERS_FAULT:
        return BAD_ARGUMENTS
    return FAILED


def code_of_state(state: RunState) -> int:
    """Return the exit code of a command that executed a run."""
    return _BY_STATE.get(state, FAILED)


def report(error: CorralError) -> int:
    """Print the error to standard error and return the exit code."""
    if isinstance(error, BadConfiguration):
        for problem in error.problems:
            what, _, fix = problem.partition("; ")
            complain(what, fix or _how_to_correct(what))
    else:
        complain(error.message, error.hint)
    return code_of(error)


def _how_to_correct(problem: str) -> str:
    """Return the remedy: a problem of a file begins with the file name, a problem of the settings names a variable."""
    where, colon, _ = problem.partition(": ")
    where = where.partition(", line ")[0]
    if colon and " " not in where and not where.startswith("APP_"):
        return f"correct it in {where}"
    return "correct it where it is set (the environment or .env), or remove it there"


def complain(what: str, fix: str | None = None, *more: str) -> None:
    """Print the error, a hint if there is one, and where to find more."""
    print(f"corral: {_one_line(what)}", file=sys.stderr)
    for line in (f"fix: {fix}" if fix else "", *more):
        if line:
            print(f"  {_one_line(line)}", file=sys.stderr)


def _one_line(text: str) -> str:
    """Escape control characters: error texts may quote what a target sent."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
