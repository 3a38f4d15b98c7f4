"""Pages that have every field, but whose scripts probably add further values."""

from corral.domain.jobs.job import Strategy
from corral.domain.runs.outcome import AttemptOutcome, Failed, FailureCode, Fetched
from corral.domain.runs.run import Run

# Set in the statistics of an answer that was read without running its scripts.
SCRIPT_CONTENT = "script_content"


def lacks_scripts(outcome: AttemptOutcome) -> bool:
    return isinstance(outcome, Fetched) and bool(outcome.stats.get(SCRIPT_CONTENT))


def flaw_of_scripts(run: Run, outcome: Fetched) -> Failed | None:
    """Return the flaw of such an answer; None for any other, and for a run whose user chose the strategy."""
    if run.requested_strategy is not Strategy.AUTO or not lacks_scripts(outcome):
        return None
    message = "scripts of the page probably add values, but they were not run; use strategy browser to run them"
    return Failed(FailureCode.EXTRACTION, message, SCRIPT_CONTENT, stats=outcome.stats)
