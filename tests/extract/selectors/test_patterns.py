import time
from typing import Any

import pytest

from corral.domain.errors import BadInput
from corral.domain.fields.patterns import check_pattern
from corral.domain.fields.spec import FieldSpec
from corral.engine.usecases.jobs import check_fields
from corral.extract.page_reader import ReadRequest, read_page
from corral.extract.selectors.patterns import search_text
from tests.extract.pages.builders import READ_TIME
from tests.slack import SLACK

PAGE = (
    b"<title>Lamp</title><p class=price>Now 9.50 EUR, was 12.00 EUR</p>"
    b"<a href=/item/42>x</a><p class=price>Later 7 EUR</p>"
)


def read(body: bytes, *fields: FieldSpec, content_type: str = "text/html") -> dict[str, Any]:
    headers = (("content-type", content_type),)
    return read_page(
        ReadRequest(body, "http://a.example/", "http://a.example/", headers=headers, fields=fields), READ_TIME
    ).record


@pytest.mark.parametrize(
    "spec, found",
    [
        (FieldSpec("price", css=".price", regex=r"[\d.]+"), "9.50"),
        (FieldSpec("price", css=".price", regex=r"was ([\d.]+)"), "12.00"),
        (FieldSpec("price", css=".price", regex=r"Later (\d+)"), "7"),
        (FieldSpec("price", css=".price", regex=r"(\d[\d.]*) EUR", all=True), ["9.50", "12.00", "7"]),
        (FieldSpec("id", css="a", attr="href", regex=r"/item/(\d+)"), "42"),
        (FieldSpec("price", regex=r"was ([\d.]+)"), "12.00"),
        (FieldSpec("price", css=".price", regex="never"), None),
        (FieldSpec("price", css=".price", regex="never", all=True), []),
        (FieldSpec("price", css=".price", regex="(never)?Now"), None),
    ],
)
def test_a_pattern_is_searched_for_in_what_was_found(spec: FieldSpec, found: object) -> None:
    assert read(PAGE, spec) == {spec.name: found}


def test_documents_without_elements_are_searched_whole() -> None:
    spec = FieldSpec("price", regex=r'"?price"?: ?([\d.]+)')
    assert read(b'{"a": {"price": 9.5}}', spec, content_type="application/json") == {"price": "9.5"}
    assert read(b"price: 7", spec, content_type="text/plain") == {"price": "7"}
    assert read(b"price: 7", FieldSpec("price", css="p", regex="7"), content_type="text/plain") == {"price": None}


@pytest.mark.parametrize(
    "pattern, said",
    [
        ("(a", "position 0: missing ), unterminated subpattern"),
        ("ab[c", "position 2: unterminated character set"),
        ("*a", "position 0: nothing to repeat"),
        (r"a\g<1>", r"position 1: bad escape"),
        ("a{99999999999999}", "repeats too often"),
        ("(" * 990, "nested too deeply"),
        ("a" * 1001, "more than 1000"),
        ("", "empty"),
    ],
)
def test_a_pattern_that_cannot_be_read_is_refused_with_the_place(pattern: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_fields([FieldSpec("title"), FieldSpec("price", regex=pattern)])
    assert said in refused.value.message
    assert (refused.value.field, refused.value.code) == ("fields.1.regex", "bad_pattern")


def test_reading_a_pattern_takes_no_time() -> None:
    started = time.monotonic()
    for pattern in ("(" * 400 + "a" + ")" * 400, "(?:a{1,99}){1,99}" * 50, "[" + "a-z" * 300 + "]", "(a|b|c)*" * 100):
        check_pattern(pattern)
    assert time.monotonic() - started < 2 * SLACK


def test_matches_are_bounded() -> None:
    assert len(search_text("a", "a" * 50_000)) == 10_000
