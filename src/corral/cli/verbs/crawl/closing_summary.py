"""The closing lines of a crawl: what was left out, by which rule, and how to get it."""

from typing import Any

from corral.cli.render import printable
from corral.cli.verbs.crawl.left_out import describe_left_out
from corral.domain.crawl.crawl import LEFT_OUT, Counts
from corral.domain.crawl.summary import TRAP_OPTION
from corral.domain.crawl.templates.traps import DEFERRING
from corral.domain.runs.run import Run
from corral.domain.verdicts.run_verdict import DATA_VERDICT

_MAX_TEMPLATES = 5
_PUT_OFF = frozenset(trap.value for trap in DEFERRING)
_RULES = {
    "endless_growth": "leads to ever more pages like itself",
    "calendar": "names a date far from today",
    "repeated_segments": "repeats a part of its path",
    "too_many_segments": "has too many parts in its path",
    "query_variants": "is one of very many queries of one path",
    "no_new_content": "is like pages that brought nothing new",
    "invented_links": "only leads to new pages, like a maze",
}
_LISTED = ("failed", "missing", "deferred")


def lines_of(run: Run, counts: Counts) -> list[str]:
    """Return the lines of the summary below the counts."""
    lines = [f"{counts.missing} missing: links that lead to 404 or 410"] if counts.missing else []
    held_back: list[dict[str, Any]] = run.stats.get("held_back") or []
    # These rules only defer addresses: a limit of the crawl stopped the remaining ones, not the rule.
    late = [each for each in held_back if each["reason"] in _PUT_OFF and run.stats.get("stopped_by")]
    if trapped := [each for each in held_back if each not in late]:
        lines += _describe_deferred(
            trapped, f"addresses were held back as parts of a trap; {TRAP_OPTION} fetches them:"
        )
    if late:
        lines += _describe_deferred(late, "addresses come last and were not reached; a larger budget fetches them:")
    if dropped := run.stats.get("left_out", {}).get("links_dropped"):
        bounds = "of one page (APP_MAX_PAGE_LINKS), of one sitemap (50,000), or of one crawl (a larger --max-pages)"
        lines.append(f"up to {dropped} addresses were not followed, beyond the bound {bounds}")
    if merged := run.stats.get("merged"):
        lines.append(f"{merged} addresses differ from others only in a session id; --keep-param NAME tells them apart")
    if states := _states(counts, held_back):
        lines.append(f"see `corral crawl pages {run.id} --state {'|'.join(states)}`")
    return lines


def describe_shortfall(run: Run, counts: Counts) -> str:
    """Return why the crawl is not complete, in one line."""
    is_about_data = run.failure_detail == DATA_VERDICT
    if run.error_message and not is_about_data:
        return run.error_message

    left_out = {rule: count for rule, count in (run.stats.get("left_out") or {}).items() if rule not in LEFT_OUT}
    reasons = [f"{counts.failed} pages failed"] if counts.failed else []
    reasons += describe_left_out(run)
    if left_out:
        rules = ", ".join(f"{count} {rule}" for rule, count in left_out.items())
        reasons.append(f"{sum(left_out.values())} addresses were held back ({rules})")
    if run.stats.get("stopped_by") == "time":
        reasons.append("its time limit was reached")
    if run.stats.get("stopped_by") == "proxy":
        reasons.append("its proxy could no longer be used")
    if is_about_data:
        reasons.append(str(run.error_message))
    return ", ".join(reasons)


def _describe_deferred(held_back: list[dict[str, Any]], what: str) -> list[str]:
    lines = [f"{sum(group['count'] for group in held_back)} {what}"]
    for group in held_back[:_MAX_TEMPLATES]:
        why = _RULES.get(group["reason"], group["reason"])
        lines.append(
            f"  {group['count']} like {printable(str(group['template'] or '(any)'))}: {why}, e.g. "
            f"{printable(str(group['example']))}"
        )
    if len(held_back) > _MAX_TEMPLATES:
        lines.append(f"  and {len(held_back) - _MAX_TEMPLATES} more templates")
    return lines


def _states(counts: Counts, held_back: list[dict[str, Any]]) -> list[str]:
    numbers = {"failed": counts.failed, "missing": counts.missing, "deferred": len(held_back) or counts.deferred}
    return [name for name in _LISTED if numbers[name]]
