"""What an answer really is: content, or a block page, a captcha, a login wall, a soft 404, an empty shell.

Decided by weighted evidence: verdict_evidence.TABLE is the specification. The content type comes first: only HTML is
weighed, JSON and plain text are judged by a few explicit sentences, everything else is what it says it is.
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
    "failure_behind",
    "failure_of_classification",
    "judge",
    "merge_headers",
]

_MAX_NAMED = 4
_WITHOUT_CONTENT = frozenset({204, 205, 304})


class PageClass(StrEnum):
    OK = "ok"  # nothing beyond what the status says
    BLOCK = "block"
    CAPTCHA = "captcha"  # a block with something to solve
    LOGIN_WALL = "login_wall"
    SOFT_404 = "soft_404"
    EMPTY_SHELL = "empty_shell"


@dataclass(frozen=True, slots=True)
class PageClassification:
    """`score` is that of the kind, or of the nearest other kind where all is well; `against` spoke for the page.

    A page that was never suspected has neither.
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
# Asked first: what the head of the answer, its address and its title say. Asked last: what is rarely needed.
_FIRST = (
    *(evidence.challenge_header, evidence.refusing_status, evidence.vendor, evidence.fields_missing),
    *(evidence.login_redirect, evidence.return_address, evidence.not_found_redirect, evidence.home_redirect),
    *(evidence.challenge_title, evidence.block_title, evidence.login_title),
    *(evidence.not_found_title, evidence.bare_not_found_title),
)
_LAST = (
    *(evidence.not_found_class, evidence.noindex, evidence.password_form, evidence.login_button),
    *(evidence.block_heading, evidence.not_found_heading),
)
# Where there is no long paragraph, what there is to read has to be gathered: the less of it, the better.
_READ = (
    *(evidence.little_text, evidence.blank_page, evidence.redirect_only, evidence.application_shell),
    *(evidence.block_phrase, evidence.another_block_phrase, evidence.login_phrase, evidence.not_found_phrase),
)


_See = Callable[[Signs], str | None]
_Weights = tuple[tuple[int, float], ...]


def _accusing(last: tuple[_See, ...]) -> list[tuple[_See, _Weights, bool]]:
    """With what each weighs against the page, by the place of the cause; and whether there is always more to ask."""
    rows = {row.see: row for row in TABLE if row.accuses}
    order = [*_FIRST, *(see for see in rows if see not in _FIRST and see not in last), *last]
    weights = {see: [max(0.0, row.weight(cause)) for cause in _KINDS] for see, row in rows.items()}
    return [(see, tuple((place, w) for place, w in enumerate(weights[see]) if w), see in _FIRST) for see in order]


_ACCUSING = _accusing(_LAST)
_ACCUSING_SHORT = _accusing((*_LAST, *_READ))
_IN_ALL = [sum(dict(weights).get(place, 0.0) for _, weights, _ in _ACCUSING) for place in range(len(_KINDS))]
_FAILURES = {
    PageClass.BLOCK: (FailureCode.BLOCKED, "block_page", "a block page"),
    PageClass.CAPTCHA: (FailureCode.BLOCKED, "captcha", "a captcha"),
    PageClass.LOGIN_WALL: (FailureCode.BLOCKED, "login_wall", "a login wall"),
    PageClass.SOFT_404: (FailureCode.BAD_RESPONSE, "soft_404", "a “not found” page"),
    PageClass.EMPTY_SHELL: (FailureCode.EXTRACTION, "empty_shell", "an empty shell"),
}


# A shell stays a good answer: its missing fields send the run to the browser, and what was found is kept.
_GOOD = frozenset({PageClass.OK, PageClass.EMPTY_SHELL})


def failure_behind(
    page: ClassifierInput, missing: tuple[str, ...], parsed: Page | None = None
) -> tuple[Failed | None, dict[str, Any] | None]:
    """What is wrong with an answer, by its status or because it only looks like content, and what gave it away."""
    retry_after = page.headers.get("retry-after")
    by_status = failure_of_status(page.status, retry_after=retry_after)
    if by_status is not None and by_status.code is FailureCode.RATE_LIMITED:
        return by_status, None
    verdict = judge(page, missing, parsed)
    # A refusal by status stays what it is, unless there is something on the page that a person could solve.
    is_said = by_status is not None and by_status.code is FailureCode.BLOCKED and verdict.kind is not PageClass.CAPTCHA
    if verdict.kind in _GOOD or is_said:
        return by_status, None
    seen = {"kind": verdict.kind.value, "score": verdict.score, "evidence": list(verdict.evidence)}
    return failure_of_classification(verdict, page.status, retry_after=retry_after) or by_status, seen


def judge(page: ClassifierInput, fields_missing: tuple[str, ...], parsed: Page | None = None) -> PageClassification:
    """`fields_missing` names the asked fields that were not found; empty means that all were.

    `parsed` is the parsed page of that text, if the caller has one.
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
    """The failure a page of this kind means; None where it is content, or where the status says more.

    A 429 stays a 429: it is answered by slowing down, whatever the page shows. The other bad statuses give way
    to a refusal that was seen, because a challenge with 503 needs another strategy and not patience.
    """
    found = _FAILURES.get(verdict.kind)
    if found is None or status == 429:
        return None
    code, detail, name = found
    seen = "; ".join(verdict.evidence[:_MAX_NAMED])
    return Failed(
        code=code,
        detail=detail,
        message=f"the target answered {status} with {name}: {seen}",
        # Without a status a bad response is not tried again.
        http_status=status if code is FailureCode.BLOCKED else None,
        retry_after=retry_after,
        stats=dict(stats or {}),
    )


def merge_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header pairs as a mapping; what was sent several times is joined."""
    together: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        together[key] = f"{together[key]}, {value}" if key in together else value
    return together


def _is_suspected(signs: Signs) -> bool:
    """Whether what speaks against the page would be enough, if nothing spoke for it. Nearly every page ends here.

    Asked in the order of what it costs to know, and only until what is left to ask could no longer matter.
    """
    most = _IN_ALL.copy()  # what each cause could come to yet
    seen = [0.0] * len(most)
    for see, weights, has_more in _ACCUSING if signs.has_long_paragraphs else _ACCUSING_SHORT:
        if see(signs) is None:
            for cause, weight in weights:
                most[cause] -= weight
            if not has_more and max(most) < THRESHOLD:
                return False
        else:
            for cause, weight in weights:
                seen[cause] += weight
            if max(seen) >= THRESHOLD:
                return True
    return False  # not reached: with nothing left to ask, what was seen is all there could be


def _weigh(signs: Signs) -> PageClassification:
    status = signs.answer.status
    seen = [(row, what) for row in TABLE if (what := row.see(signs)) is not None]
    causes: list[Cause] = ["refused"]
    if _is_good(status):
        causes = list(_KINDS)
    scores = {cause: sum(row.weight(cause) for row, _ in seen) for cause in causes}
    cause = max(causes, key=lambda cause: scores[cause])
    weighed = sorted(((row.weight(cause), what) for row, what in seen), key=lambda pair: -abs(pair[0]))
    evidence = tuple(dict.fromkeys(what for weight, what in weighed if weight > 0))
    against = tuple(what for weight, what in weighed if weight < 0)
    kind = _KINDS[cause] if scores[cause] >= THRESHOLD else PageClass.OK
    if kind is PageClass.BLOCK and _has_something_to_solve(signs):
        kind = PageClass.CAPTCHA
    return PageClassification(kind, scores[cause], evidence, against)


def _has_something_to_solve(signs: Signs) -> bool:
    captcha_header = signs.answer.headers.get("x-amzn-waf-action", "").lower() == "captcha"
    markup = challenge_markup(signs) or ""
    return captcha_header or widget(signs) is not None or "captcha" in markup.lower()


def _is_good(status: int) -> bool:
    return 200 <= status < 300 and status not in _WITHOUT_CONTENT


def _form_of(page: ClassifierInput) -> str | None:
    """html, json or text; None for what is not judged. A challenge is sent as HTML even by an API, so JSON that
    begins like a document is one; plain text that does is source code."""
    content_type = page.content_type.partition(";")[0].strip().lower()
    start = page.text[:200].lstrip().lower()
    if "json" in content_type:
        return "html" if start.startswith(("<!doctype html", "<html")) else "json"
    if "html" in content_type:
        return "html"
    if not content_type:
        return "html" if start.startswith("<") or not start else "json" if start.startswith(("{", "[")) else "text"
    return "text" if content_type == "text/plain" else None
