"""What is wrong with a record that has all its fields: a value that was cut, or that breaks a rule of the job."""

from corral.domain.runs.outcome import Failed, FailureCode, Fetched

# What the problems of an answer say of a field whose value was longer than a value may be.
VALUE_CUT = "limit:value_chars"
RULE = "rule:"  # before what a value breaks of the rules of its field


def flaw_of(outcome: Fetched) -> Failed | None:
    """What is wrong with a record that has all its fields."""
    if cut := _cut_fields(outcome):
        return _of_cut(outcome, cut)
    broken = _fields_against_rules(outcome)
    return _of_rules(outcome, broken) if broken else None


def _cut_fields(outcome: Fetched) -> list[str]:
    problems = outcome.stats.get("problems", {})
    return [name for name, problem in problems.items() if problem == VALUE_CUT]


def _of_cut(outcome: Fetched, cut: list[str]) -> Failed:
    message = f"cut, because a value may not be longer: {', '.join(cut)}"
    return Failed(FailureCode.LIMIT, message, VALUE_CUT.partition(":")[2], stats=outcome.stats)


def _fields_against_rules(outcome: Fetched) -> dict[str, str]:
    problems = outcome.stats.get("problems", {})
    return {name: text.removeprefix(RULE) for name, text in problems.items() if str(text).startswith(RULE)}


def _of_rules(outcome: Fetched, broken: dict[str, str]) -> Failed:
    told = ", ".join(f"{name} ({text})" for name, text in broken.items())
    return Failed(FailureCode.EXTRACTION, f"against the rules of the job: {told[:500]}", "rules", stats=outcome.stats)
