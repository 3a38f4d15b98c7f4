"""Classify a response: content, or a block page, a captcha, a login wall, a soft 404, an empty shell.

HTML is classified by weighted evidence: evidence.TABLE is the specification. JSON and plain text are classified by a
few explicit sentences. All other content types count as content.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.classify import evidence
from corral.extract.classify.evidence import TABLE, THRESHOLD, Cause, challenge_header, challenge_markup, widget
from corral.extract.classify.plain import classify_plain
from corral.extract.classify.signs import ClassifierInput, Signs
from corral.extract.page import Page, is_too_deep

__all__ = [
    "ClassifierInput",
    "PageClass",
    "PageClassification",
    "classify_page",
    "failure_behind",
    "failure_of_classification",
    "merge_headers",
]

_MAX_NAMED = 4
_WITHOUT_CONTENT = frozenset({204, 205, 304})


class PageClass(StrEnum):
    OK = "ok"  # content, or a failure that the status already tells
    BLOCK = "block"
    CAPTCHA = "captcha"  # a block with something to solve
    LOGIN_WALL = "login_wall"
    SOFT_404 = "soft_404"
    EMPTY_SHELL = "empty_shell"


@dataclass(frozen=True, slots=True)
class PageClassification:
    """The class of a page with its evidence.

    `score` is that of the kind; for a good page, that of the most likely other kind. `against` is the evidence that
    the page is good. A page that was never suspected has no evidence of either sort.
    """

    kind: PageClass
    score: float
    evidence: tuple[str, ...]
    against: tuple[str, ...] = ()


_KINDS: dict[Cause, PageClass] = {
    "refused": PageClass.BLOCK,
    "login": PageClass.LOGIN_WALL,
    "gone": PageClass.SOFT_404,
    "shell": PageClass.EMPTY_SHELL,
}
# Checked first: the headers, the URL and the title. Checked last: what is rarely needed.
_FIRST_CHECKS = (
    *(evidence.challenge_header, evidence.refusing_status, evidence.vendor, evidence.fields_missing),
    *(evidence.login_redirect, evidence.return_address, evidence.not_found_redirect, evidence.home_redirect),
    *(evidence.challenge_title, evidence.block_title, evidence.login_title),
    *(evidence.not_found_title, evidence.bare_not_found_title),
)
_LAST_CHECKS = (
    *(evidence.not_found_class, evidence.noindex, evidence.password_form, evidence.login_button),
    *(evidence.block_heading, evidence.not_found_heading),
)
# These need the text of the page, which has to be collected piece by piece if there are no long paragraphs.
_TEXT_CHECKS = (
    *(evidence.little_text, evidence.blank_page, evidence.redirect_only, evidence.application_shell),
    *(evidence.block_phrase, evidence.another_block_phrase, evidence.login_phrase, evidence.not_found_phrase),
)


_Detect = Callable[[Signs], str | None]
_Weights = tuple[tuple[int, float], ...]


def _incriminating(last: tuple[_Detect, ...]) -> list[tuple[_Detect, _Weights, bool]]:
    """Return the incriminating evidence in the order of checking.

    Each entry has its weights by the index of the cause, and whether it is one of the first, cheap checks.
    """
    rows = {row.detect: row for row in TABLE if row.is_incriminating}
    order = [*_FIRST_CHECKS, *(detect for detect in rows if detect not in _FIRST_CHECKS and detect not in last), *last]
    weights = {detect: [max(0.0, row.weight(cause)) for cause in _KINDS] for detect, row in rows.items()}
    return [
        (detect, tuple((index, w) for index, w in enumerate(weights[detect]) if w), detect in _FIRST_CHECKS)
        for detect in order
    ]


_INCRIMINATING = _incriminating(_LAST_CHECKS)
_INCRIMINATING_SHORT = _incriminating((*_LAST_CHECKS, *_TEXT_CHECKS))
_MAX_SCORES = [sum(dict(weights).get(index, 0.0) for _, weights, _ in _INCRIMINATING) for index in range(len(_KINDS))]
_FAILURES = {
    PageClass.BLOCK: (FailureCode.BLOCKED, "block_page", "a block page"),
    PageClass.CAPTCHA: (FailureCode.BLOCKED, "captcha", "a captcha"),
    PageClass.LOGIN_WALL: (FailureCode.BLOCKED, "login_wall", "a login wall"),
    PageClass.SOFT_404: (FailureCode.BAD_RESPONSE, "soft_404", "a “not found” page"),
    PageClass.EMPTY_SHELL: (FailureCode.EXTRACTION, "empty_shell", "an empty shell"),
}


# A shell is not a failure: its missing fields escalate the run to the browser, and the found ones stay.
_GOOD = frozenset({PageClass.OK, PageClass.EMPTY_SHELL})


def failure_behind(
    page: ClassifierInput, missing: tuple[str, ...], parsed: Page | None = None
) -> tuple[Failed | None, dict[str, Any] | None]:
    """Return the failure of a response, by its status or because it only looks like content, and the evidence."""
    retry_after = page.headers.get("retry-after")
    by_status = failure_of_status(page.status, retry_after=retry_after)
    if by_status is not None and by_status.code is FailureCode.RATE_LIMITED:
        return by_status, None
    verdict = classify_page(page, missing, parsed)
    # The status decides about a refusal, unless the page has a captcha that a person could solve.
    is_refused = (
        by_status is not None and by_status.code is FailureCode.BLOCKED and verdict.kind is not PageClass.CAPTCHA
    )
    if verdict.kind in _GOOD or is_refused:
        return by_status, None
    document = {"kind": verdict.kind.value, "score": verdict.score, "evidence": list(verdict.evidence)}
    return failure_of_classification(verdict, page.status, retry_after=retry_after) or by_status, document


def classify_page(
    page: ClassifierInput, fields_missing: tuple[str, ...], parsed: Page | None = None
) -> PageClassification:
    """Classify a page.

    `fields_missing` names the requested fields that were not found; empty means that all were found. `parsed` is the
    parsed page of the same text, if the caller has one.
    """
    signs = Signs(page, fields_missing, parsed)
    form = _form_of(page)
    if form == "html" and (parsed is not None or not is_too_deep(signs.html)):
        return _weigh(signs) if _is_suspected(signs) else PageClassification(PageClass.OK, 0.0, ())
    header = challenge_header(signs)
    if header is not None:
        return PageClassification(PageClass.BLOCK, THRESHOLD, (header,))
    found = classify_plain(page.text, is_json=form == "json") if form and fields_missing else None
    if found is None or (found[0] not in (PageClass.BLOCK, PageClass.CAPTCHA) and not _is_good(page.status)):
        return PageClassification(PageClass.OK, 0.0, ())
    return PageClassification(PageClass(found[0]), THRESHOLD, (found[1],))


def failure_of_classification(
    verdict: PageClassification, status: int, *, retry_after: str | None = None, stats: dict[str, object] | None = None
) -> Failed | None:
    """Return the failure of a page of this class; None if it is content, or if the status takes precedence.

    A 429 stays a 429, whatever the page shows: the remedy is to slow down. For other bad statuses the class takes
    precedence, because a challenge with status 503 needs another strategy and not a retry.
    """
    found = _FAILURES.get(verdict.kind)
    if found is None or status == 429:
        return None
    code, detail, name = found
    reasons = "; ".join(verdict.evidence[:_MAX_NAMED])
    return Failed(
        code=code,
        detail=detail,
        message=f"the target answered {status} with {name}: {reasons}",
        # A bad response without a status is not retried.
        http_status=status if code is FailureCode.BLOCKED else None,
        retry_after=retry_after,
        stats=dict(stats or {}),
    )


def merge_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return header pairs as a mapping, with repeated headers joined."""
    together: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        together[key] = f"{together[key]}, {value}" if key in together else value
    return together


def _is_suspected(signs: Signs) -> bool:
    """Return whether the incriminating evidence alone reaches the threshold. Nearly every page is cleared here.

    The checks run in the order of their cost, and stop as soon as the remaining ones cannot change the result.
    """
    reachable = _MAX_SCORES.copy()  # the highest score that each cause can still reach
    scores = [0.0] * len(reachable)
    for detect, weights, has_more in _INCRIMINATING if signs.has_long_paragraphs else _INCRIMINATING_SHORT:
        if detect(signs) is None:
            for cause, weight in weights:
                reachable[cause] -= weight
            if not has_more and max(reachable) < THRESHOLD:
                return False
        else:
            for cause, weight in weights:
                scores[cause] += weight
            if max(scores) >= THRESHOLD:
                return True
    return False  # not reached: after the last check both sums are equal


def _weigh(signs: Signs) -> PageClassification:
    status = signs.response.status
    found = [(row, text) for row in TABLE if (text := row.detect(signs)) is not None]
    causes: list[Cause] = ["refused"]
    if _is_good(status):
        causes = list(_KINDS)
    scores = {cause: sum(row.weight(cause) for row, _ in found) for cause in causes}
    cause = max(causes, key=lambda cause: scores[cause])
    weighed = sorted(((row.weight(cause), text) for row, text in found), key=lambda pair: -abs(pair[0]))
    evidence = tuple(dict.fromkeys(text for weight, text in weighed if weight > 0))
    against = tuple(text for weight, text in weighed if weight < 0)
    kind = _KINDS[cause] if scores[cause] >= THRESHOLD else PageClass.OK
    if kind is PageClass.BLOCK and _has_something_to_solve(signs):
        kind = PageClass.CAPTCHA
    return PageClassification(kind, scores[cause], evidence, against)


def _has_something_to_solve(signs: Signs) -> bool:
    captcha_header = signs.response.headers.get("x-amzn-waf-action", "").lower() == "captcha"
    markup = challenge_markup(signs) or ""
    return captcha_header or widget(signs) is not None or "captcha" in markup.lower()


def _is_good(status: int) -> bool:
    return 200 <= status < 300 and status not in _WITHOUT_CONTENT


def _form_of(page: ClassifierInput) -> str | None:
    """Return html, json or text; None for content types that are not classified.

    A challenge is HTML even if an API sends it, so JSON that begins like an HTML document is one. Plain text that
    begins like one is source code.
    """
    content_type = page.content_type.partition(";")[0].strip().lower()
    start = page.text[:200].lstrip().lower()
    if "json" in content_type:
        return "html" if start.startswith(("<!doctype html", "<html")) else "json"
    if "html" in content_type:
        return "html"
    if not content_type:
        return "html" if start.startswith("<") or not start else "json" if start.startswith(("{", "[")) else "text"
    return "text" if content_type == "text/plain" else None
