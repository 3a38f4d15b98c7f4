"""What built-in rules left out of a crawl, and the options that include it. Such a crawl is not complete."""

from collections.abc import Mapping

from corral.domain.crawl.crawl import LEFT_OUT, SITEMAP_CUT
from corral.domain.crawl.scope import Refusal
from corral.domain.crawl.templates.traps import PROVEN
from corral.domain.runs.outcome import FailureCode

LINKS_DROPPED = "links_dropped"
# Rules of the site and options of the caller do not count as built-in rules.
_NOT_OURS = frozenset({"robots", Refusal.OUT_OF_SCOPE.value})
_RULES = frozenset({*(trap.value for trap in PROVEN), Refusal.TOO_LONG.value, SITEMAP_CUT, *LEFT_OUT})
# How to include what a rule holds back: on the command line, and in a job or over HTTP.
TRAP_OPTION = "--no-trap-detection"
TRAP_FIELD = "avoid_traps"


def count_omissions(reasons: Mapping[str, int], links_dropped: int) -> dict[str, int]:
    """Count the URLs that built-in rules left out, by rule. Depth, patterns and budgets are rules of the caller."""
    omitted = {reason: count for reason, count in reasons.items() if _is_ours(reason) and count}
    return {**omitted, LINKS_DROPPED: links_dropped} if links_dropped else omitted


def _is_ours(reason: str) -> bool:
    code, _, detail = reason.partition(":")
    return reason in _RULES or (code == FailureCode.POLICY and detail not in _NOT_OURS)
