"""The rules of the verdict, beside the pages it is tried on."""

import re
import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.runs.outcome import FailureCode
from corral.extract.classify import page_classifier
from corral.extract.classify.evidence import TABLE, THRESHOLD, Cause
from corral.extract.classify.page_classifier import (
    ClassifierInput,
    PageClass,
    PageClassification,
    classify_page,
    failure_of_classification,
    merge_headers,
)
from corral.extract.classify.phrases import BLOCK_TITLE, CHALLENGE_TITLE, GONE, GONE_BARE, LOGIN_TITLE, is_odd, says
from corral.extract.classify.signs import (
    CHALLENGE_MARKUP,
    CHALLENGE_SCRIPT,
    LITTLE_PROSE_CHARS,
    LONG_PROSE_CHARS,
    MAX_EXAMINED_CHARS,
    WATCHING_SCRIPT,
    WIDGETS,
    Signs,
)
from corral.extract.page import GUARD_WORDS, SCRIPT_WORDS
from tests.extract.classify.bad_pages import CASES
from tests.extract.classify.good_pages import ALWAYS, WHEN_FOUND
from tests.extract.pages.builders import LONG, answer, html, read_page

CAUSES: tuple[Cause, ...] = ("refused", "login", "gone", "shell")
PIECES = """<div>|</div>|<form>|<input type=password>|<title>Just a moment...|</title>|<p>|<script>|</script>|<template>
|<iframe src='|<a href=/login>|404|not found|<h1>|<div class=cf-turnstile>|<article>|<!--|-->|<noscript>|&#0;|'|"|€ 5
|<svg>|<frameset>|<body hidden>|<meta http-equiv=refresh content='0;url=/'>|<div id=root>
|<div id=challenge-form>|<script src=/cdn-cgi/challenge-platform/h/b/orchestrate>"""
MARKUP = st.lists(st.sampled_from([*PIECES.split("|"), "\0"]) | st.text(max_size=20), max_size=40).map("".join)
ANSWERS = st.builds(
    ClassifierInput,
    status=st.integers(100, 999),
    headers=st.dictionaries(st.sampled_from(["server", "set-cookie", "cf-mitigated", "x-robots-tag"]), st.text()),
    content_type=st.sampled_from(["text/html", "application/json", "text/plain", "", "image/png", "x/y;html"]),
    final_url=st.text() | st.sampled_from(["https://[", "http://a/login", "http://login.a/"]),
    requested_url=st.text() | st.just("http://a/b"),
    text=st.text() | MARKUP,
    title=st.none() | st.text(),
)


# -- the table ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", CAUSES)
def test_being_short_hidden_and_without_the_fields_is_no_offence(cause: Cause) -> None:
    """No sum of what is said about the page as a whole reaches the threshold."""
    names = [row.detect.__name__ for row in TABLE]
    general = TABLE[names.index("little_text") :]
    assert sum(max(0.0, row.weight(cause)) for row in general) < THRESHOLD


@pytest.mark.parametrize("cause", CAUSES)
def test_much_to_read_and_every_field_outweigh_any_single_piece(cause: Cause) -> None:
    weights = {row.detect.__name__: row.weight(cause) for row in TABLE}
    assert max(weights.values()) + weights["long_text"] + weights["fields_found"] < THRESHOLD


@pytest.mark.parametrize(
    "what, words",
    [
        (WIDGETS, GUARD_WORDS),
        (CHALLENGE_MARKUP, GUARD_WORDS),
        (CHALLENGE_SCRIPT.pattern, SCRIPT_WORDS),
        (WATCHING_SCRIPT.pattern, SCRIPT_WORDS),
    ],
)
def test_whatever_guards_a_page_is_found_by_one_of_the_words(what: str, words: tuple[bytes, ...]) -> None:
    """A page without any of them is not searched for it."""
    looked_for = re.split(r"\|(?!cloud\))" if what.startswith("_") else r",\s", what.lower().replace("\\", ""))
    assert len(looked_for) > 2
    for one in looked_for:
        assert any(word.decode() in one for word in words), one


@given(ANSWERS, st.booleans())
def test_a_page_that_is_not_suspected_would_not_have_been_condemned(page: ClassifierInput, is_complete: bool) -> None:
    page = replace(page, content_type="text/html")
    missing = () if is_complete else ("price",)
    whole = page_classifier._weigh(Signs(page, missing))  # what is weighed for every page, were there no shorter way
    assert classify_page(page, missing).kind is whole.kind


KNOWN = [*ALWAYS.values(), *WHEN_FOUND.values(), *(case.values[1] for case in CASES)]


@given(st.sampled_from(KNOWN) | ANSWERS, st.booleans(), st.integers(0, 40), st.sampled_from([200, 403, 404, 500]))
def test_suspicion_is_the_same_however_early_it_is_settled(
    page: ClassifierInput, is_complete: bool, padding: int, status: int
) -> None:
    text = page.text.replace("<h1", f"<p>{'Ein ſaß ﬃ Wort. ' * 3 * padding}</p><h1", 1)
    page = replace(page, content_type="text/html", text=text, status=status)
    missing = () if is_complete else ("price",)
    signs = Signs(page, missing)
    seen = [row for row in TABLE if row.is_incriminating and row.detect(signs) is not None]
    sums = [sum(max(row.weight(cause), 0.0) for row in seen) for cause in CAUSES]
    assert page_classifier._is_suspected(Signs(page, missing)) == (max(sums) >= THRESHOLD)
    assert (Signs(page, ()).has_little_prose, Signs(page, ()).has_long_prose) == (
        len(signs.prose) < LITTLE_PROSE_CHARS,
        len(signs.prose) >= LONG_PROSE_CHARS,
    )


@pytest.mark.parametrize("order", [page_classifier._INCRIMINATING, page_classifier._INCRIMINATING_SHORT])
def test_all_that_accuses_is_asked_once(order: list[tuple[object, object, bool]]) -> None:
    asked = [see for see, _, _ in order]
    assert len(asked) == len(set(asked))
    assert set(asked) == {row.detect for row in TABLE if row.is_incriminating}


def test_no_evidence_is_weighed_twice() -> None:
    names = [row.detect.__name__ for row in TABLE]
    assert len(names) == len(set(names))
    assert all(any(row.weight(cause) for cause in CAUSES) for row in TABLE)


def test_the_set_is_large_enough_to_mean_something() -> None:
    assert len(CASES) >= 25
    assert len(ALWAYS) + len(WHEN_FOUND) >= 25


# -- what it is judged by ----------------------------------------------------------------------------------


def test_every_kind_but_a_refusal_needs_a_good_status() -> None:
    for page in (read_page("soft_404"), read_page("shell"), read_page("login_wall")):
        assert classify_page(answer(page, status=500), ("price",)).kind is PageClass.OK


def test_the_title_can_be_given() -> None:
    page = answer(html("", "<p>Please stand by.</p><div id=challenge-running></div>"), title="Just a moment...")
    assert "the title “Just a moment...”" in classify_page(page, ("price",)).evidence


def test_what_speaks_for_the_page_is_named_too() -> None:
    page_classifier = classify_page(answer(read_page("article_about_captchas")), ())
    assert "it describes itself as NewsArticle" in page_classifier.against
    assert "every requested field was found" in page_classifier.against


def test_without_a_content_type_the_text_itself_tells() -> None:
    assert classify_page(answer(read_page("challenge"), content_type=""), ("price",)).kind is PageClass.BLOCK
    assert classify_page(answer('{"error": "forbidden"}', content_type=""), ("price",)).kind is PageClass.BLOCK
    assert classify_page(answer("Access denied", content_type=""), ("price",)).kind is PageClass.BLOCK


def test_a_document_too_deep_to_parse_is_not_called_empty() -> None:
    assert classify_page(answer("<div>" * 20_000), ("price",)).kind is PageClass.OK


def test_repeated_headers_are_joined() -> None:
    assert merge_headers([("Set-Cookie", "a=1"), ("set-cookie", "datadome=2")]) == {"set-cookie": "a=1, datadome=2"}


# -- failures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, code, detail, http_status",
    [
        (PageClass.BLOCK, FailureCode.BLOCKED, "block_page", 200),
        (PageClass.CAPTCHA, FailureCode.BLOCKED, "captcha", 200),
        (PageClass.LOGIN_WALL, FailureCode.BLOCKED, "login_wall", 200),
        (PageClass.SOFT_404, FailureCode.BAD_RESPONSE, "soft_404", None),
        (PageClass.EMPTY_SHELL, FailureCode.EXTRACTION, "empty_shell", None),
    ],
)
def test_each_kind_is_a_failure_of_its_own(
    kind: PageClass, code: FailureCode, detail: str, http_status: int | None
) -> None:
    failure = failure_of_classification(PageClassification(kind, 5.0, ("a thing", "another")), 200, stats={"cost": 1})
    assert failure is not None
    assert (failure.code, failure.detail, failure.http_status) == (code, detail, http_status)
    assert failure.message.endswith(": a thing; another")
    assert failure.stats == {"cost": 1}


def test_content_is_no_failure() -> None:
    assert failure_of_classification(PageClassification(PageClass.OK, 0.0, ()), 200) is None


def test_being_asked_to_slow_down_is_not_a_block() -> None:
    assert failure_of_classification(PageClassification(PageClass.CAPTCHA, 9.0, ("a captcha",)), 429) is None


def test_a_challenge_with_503_is_a_block_and_keeps_its_waiting_time() -> None:
    page_classifier = classify_page(answer(read_page("challenge"), status=503), ("price",))
    failure = failure_of_classification(page_classifier, 503, retry_after="30")
    assert failure is not None
    assert (failure.code, failure.http_status, failure.retry_after) == (FailureCode.BLOCKED, 503, "30")
    assert "Just a moment" in failure.message


# -- any text, any size ------------------------------------------------------------------------------------


@given(page=ANSWERS, missing=st.lists(st.text(), max_size=3).map(tuple))
def test_nothing_makes_it_raise(page: ClassifierInput, missing: tuple[str, ...]) -> None:
    page_classifier = classify_page(page, missing)
    assert (page_classifier.kind is PageClass.OK) is (failure_of_classification(page_classifier, 200) is None)


def calls_to_judge(page: ClassifierInput) -> int:
    """How many functions it takes, Python's and C's: a count that does not depend on the machine."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        classify_page(page, ("price",))
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "piece",
    [
        "<p>",
        "<div>word</div>",
        "<a href=/x>link</a>",
        "<input type=password>",
        "<div class=g-recaptcha></div>",
        "<script>_cf</script>",
        "<h1>Not found</h1>",
        "<nav>",
        "<noscript>enable ",
        "<meta name=robots content=index>",
        "<table><tr><td>",
        '<script type="application/ld+json">{"@type":    </script>',
        " ",
    ],
)
def test_twice_the_document_is_at_most_twice_the_work(piece: str) -> None:
    once, twice = (calls_to_judge(answer(html("x", piece * count))) for count in (1_500, 3_000))
    assert twice <= 2.2 * once + 200


@pytest.mark.parametrize(
    "piece",
    [
        "your ",
        "enable javascript",
        "requested url ",
        '"@type" : [ ',
        "<script>" + "_cf_chl_op/cdn-cgi/challenge-platform/h/",
        "page you ",
        "<iframe src=hcaptcha.co>",
        "a|b - ",
        "<div class=h-captcha>",
        "<",
        "&",
        "<!--",
        "\n",
    ],
)
def test_two_megabytes_of_almost_evidence_come_to_an_end(piece: str) -> None:
    """Anything worse than linear would be cut off by the timeout of the suite."""
    text = piece * (MAX_EXAMINED_CHARS // len(piece))
    for shape in (text, html(text, text), html("x", f"<p>{text}</p>"), html("x", f"<script>{text}</script>")):
        classify_page(answer(shape), ("price",))
    classify_page(answer(text, content_type="application/json"), ("price",))


def test_what_lies_beyond_two_megabytes_is_not_looked_at() -> None:
    padding = f"<!--{'x' * MAX_EXAMINED_CHARS}-->"
    late = answer(html("Rope", f"<p>Rope, 9 yards.</p><img src=/1.jpg>{padding}<div id=challenge-form></div>"))
    assert classify_page(late, ("price",)).kind is PageClass.OK


def test_the_whole_of_a_large_document_is_looked_at() -> None:
    padding = f"<!--{'x' * (MAX_EXAMINED_CHARS - 10_000)}-->"
    page = answer(html("Just a moment...", f"{padding}<p>Wait.</p><div id=challenge-form></div>"))
    assert "a challenge in the markup (div challenge-form)" in classify_page(page, ("price",)).evidence
    assert classify_page(answer(html("Just a moment...", padding[:1000] + "-->" + LONG)), ()).kind is PageClass.OK


@pytest.mark.parametrize("pattern", [CHALLENGE_TITLE, BLOCK_TITLE, LOGIN_TITLE, GONE, GONE_BARE])
@given(st.data())
def test_a_title_that_says_something_is_never_passed_over(pattern: re.Pattern[str], data: st.DataObject) -> None:
    title = data.draw(st.from_regex(pattern, fullmatch=True))
    assert is_odd(title) == says(pattern, title)
    assert is_odd(f"Shop | {title.upper()}") == says(pattern, f"Shop | {title.upper()}")
