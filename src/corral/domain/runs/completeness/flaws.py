"""Flaws of a record that has all its fields: a value that was truncated, or that breaks a rule of the job."""

from corral.domain.runs.outcome import Failed, FailureCode, Fetched

# The problem of a field whose value was truncated at the length limit.
VALUE_CUT = "limit:value_chars"
RULE = "rule:"  # prefix of the rules that a value breaks


def flaw_of(outcome: Fetched) -> Failed | None:
    """Return the flaw of a record that has all its fields, or None."""
    if cut := _list_truncated_fields(outcome):
        return _truncation_failure(outcome, cut)
    broken = _fields_against_rules(outcome)
    return _rules_failure(outcome, broken) if broken else None


def _list_truncated_fields(outcome: Fetched) -> list[str]:
    problems = outcome.stats.get("problems", {})
    return [name for name, problem in problems.items() if problem == VALUE_CUT]


def _truncation_failure(outcome: Fetched, cut: list[str]) -> Failed:
    message = f"truncated at the length limit: {', '.join(cut)}"
    return Failed(FailureCode.LIMIT, message, VALUE_CUT.partition(":")[2], stats=outcome.stats)


def _fields_against_rules(outcome: Fetched) -> dict[str, str]:
    problems = outcome.stats.get("problems", {})
    return {name: text.removeprefix(RULE) for name, text in problems.items() if str(text).startswith(RULE)}


def _rules_failure(outcome: Fetched, broken: dict[str, str]) -> Failed:
    broken_rules = ", ".join(f"{name} ({text})" for name, text in broken.items())
    return Failed(
        FailureCode.EXTRACTION, f"values break the rules of the job: {broken_rules[:500]}", "rules", stats=outcome.stats
    )
