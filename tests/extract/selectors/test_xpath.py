"""XPath on pages, and how it is refused."""

import itertools
import random
import time
from typing import Any

import pytest
from lxml import etree

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.engine.usecases.jobs import check_fields
from corral.extract.page_reader import ReadRequest, read_page
from corral.extract.selectors.xpath_grammar import find_mistake
from tests.extract.pages.builders import READ_TIME
from tests.slack import SLACK

URL = "http://shop.example/lamps/1"
PAGE = b"""<!doctype html><title>Lamp</title><h1>A <b>lamp</b></h1><p class=price>9<sup>50</sup></p>
<a href=/next rel=next>on</a><a href="?b=1">b</a><img src=i.png><table><tr><td>1<td>2</table><!-- note --><p></p>"""


def read(body: bytes, *fields: FieldSpec, content_type: str = "text/html") -> dict[str, Any]:
    headers = (("content-type", content_type),)
    return read_page(ReadRequest(body, URL, URL, headers=headers, fields=fields), READ_TIME).record


@pytest.mark.parametrize(
    "xpath, more, found",
    [
        ("//h1", {}, "A lamp"),
        ("//h1/text()", {}, "A"),
        ("//a/@href", {}, "http://shop.example/next"),
        ("//a/@href", {"all": True}, ["http://shop.example/next", "http://shop.example/lamps/1?b=1"]),
        ("//a", {"attr": "href"}, "http://shop.example/next"),
        ("//a", {"attr": "HREF", "all": True}, ["http://shop.example/next", "http://shop.example/lamps/1?b=1"]),
        ("//a", {"attr": "rel"}, "next"),
        ("//a[@rel='next']/following-sibling::a", {}, "b"),
        ("string(//title)", {}, "Lamp"),
        ("count(//a)", {}, 2),
        ("count(//a) div 4", {}, 0.5),
        ("count(//video)", {}, 0),
        ("number(//h1)", {}, None),
        ("//p > 1000", {}, False),
        ("boolean(//a)", {"all": True}, [True]),
        ("//p[@class='price']", {"regex": r"(\d+)"}, "9"),
        ("count(//a)", {"regex": r"\d"}, "2"),
        ("//table/tbody/tr/td[2]", {}, "2"),
        ("//comment()", {}, "note"),
        ("//p", {"all": True}, ["9 50"]),
        ("//video", {}, None),
        ("//video", {"all": True}, []),
        ("//x:video", {}, None),
        ("//namespace::*", {"all": True}, []),
    ],
)
def test_a_field_by_xpath(xpath: str, more: dict[str, Any], found: object) -> None:
    assert read(PAGE, FieldSpec("f", xpath=xpath, **more)) == {"f": found}


def test_css_and_xpath_see_the_same_page() -> None:
    names = {"td": "//td", "a[rel]": "//a[@rel]", "h1": "//h1", "sup": "//sup", "body": "//body"}
    for css, xpath in names.items():
        both = read(PAGE, FieldSpec("css", css=css, all=True), FieldSpec("xpath", xpath=xpath, all=True))
        assert both["css"] == both["xpath"]


def test_zero_and_false_are_found() -> None:
    fields = (FieldSpec("none", xpath="count(//video)"), FieldSpec("no", xpath="boolean(//video)"))
    answer = read_page(ReadRequest(PAGE, URL, URL, headers=(("content-type", "text/html"),), fields=fields), READ_TIME)
    assert (answer.record, answer.missing) == ({"none": 0, "no": False}, ())


def test_beyond_ten_thousand_the_rest_is_counted() -> None:
    links = b"".join(b"<a href=/%d>x</a>" % number for number in range(10_003))
    fields = (FieldSpec("to", xpath="//a/@href", all=True),)
    answer = read_page(ReadRequest(links, URL, URL, headers=(("content-type", "text/html"),), fields=fields), READ_TIME)
    assert len(answer.record["to"]) == 10_000
    assert (answer.dropped, answer.links_dropped) == ({"to": 3}, 3)


def test_a_page_deeper_than_the_parser_goes_costs_its_xpath_fields_only() -> None:
    body = b"<title>Deep</title>" + b"<div>" * 400 + b"<b>x</b>"
    fields = (FieldSpec("title"), FieldSpec("b", xpath="//b"), FieldSpec("c", css="b"))
    answer = read_page(ReadRequest(body, URL, URL, headers=(("content-type", "text/html"),), fields=fields), READ_TIME)
    assert answer.record == {"title": "Deep", "b": None, "c": "x"}
    assert answer.problems == {"b": "limit:selector"}


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
def test_documents_without_elements_have_none(content_type: str) -> None:
    assert read(b'{"a": 1}', FieldSpec("a", xpath="//a"), content_type=content_type) == {"a": None}


WRONG = [
    ("//a[", 4, "it ends too early"),
    ("//a[1", 5, "']' is missing"),
    ("//a]", 3, "']' is not expected here"),
    ("", 0, "it ends too early"),
    ("//a[@href='x]", 10, "a quote that is not closed"),
    ("//a & //b", 4, "'&' means nothing here"),
    ("kind::a", 0, "unknown axis 'kind'"),
    ("//a[$b]", 4, "variables are not supported"),
    ("//a[text(1)]", 9, "')' is missing"),
    ("count()", 0, "count() has 0 arguments and takes 1"),
    ("//a | -1", 6, "'-' is not expected here"),
    ("(" * 100 + "a" + ")" * 100, 40, "nested too deeply"),
    ("document('/etc/passwd')", 0, "unknown function 'document'"),
    ("//a[document('http://127.0.0.1/')]", 4, "unknown function 'document'"),
    ("unparsed-text('/etc/passwd')", 0, "unknown function 'unparsed-text'"),
    ("re:test('a', '(a+)+')", 0, "unknown function 're:test'"),
    ("str:tokenize('a')", 0, "unknown function 'str:tokenize'"),
    ("system-property('xsl:vendor')", 0, "unknown function 'system-property'"),
    ("env('HOME')", 0, "unknown function 'env'"),
]


@pytest.mark.parametrize("xpath, at, what", WRONG, ids=[each[0][:30] for each in WRONG])
def test_what_is_no_xpath_is_refused_with_the_place(xpath: str, at: int, what: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_fields([FieldSpec("title"), FieldSpec("f", xpath=xpath)])
    assert f"position {at}: " in refused.value.message
    assert what in refused.value.message
    assert (refused.value.field, refused.value.code) == ("fields.1", "bad_selector")
    assert refused.value.hint


def test_an_expression_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadInput, match="1000002 characters, more than 1000"):
        check_fields([FieldSpec("f", xpath="//" + "a" * 1_000_000)])


def test_what_is_accepted_is_what_the_library_takes() -> None:
    """Expressions made of random pieces: whatever passes here compiles there."""
    chance = random.Random(7)
    pieces = ["a", "b", "//", "/", "[", "]", "(", ")", "@", "::", "*", "..", ".", "'x'", "1", "|", "and", "or", "div"]
    pieces += ["-", "=", ",", "text()", "child", "node()", "last()", "x:y"]
    accepted = 0
    for length in itertools.islice(itertools.cycle(range(1, 8)), 7_000):
        text = " ".join(chance.choices(pieces, k=length))
        if find_mistake(text) is None:
            etree.XPath(text, regexp=False)
            accepted += 1
    assert accepted > 200


def test_checking_takes_no_time() -> None:
    started = time.monotonic()
    for text in ("(" * 1000, "a[" * 499, "'" * 999, "-" * 999 + "1", "a/" * 499 + "b", " " * 1000, "1" * 1000):
        find_mistake(text)
    assert time.monotonic() - started < 1 * SLACK


@pytest.mark.parametrize("text", ["document('/etc/passwd')", "re:test('a', 'a')", "$x", "//a["])
def test_a_stored_expression_that_cannot_be_looked_up_finds_nothing(text: str) -> None:
    assert read(PAGE, FieldSpec("title"), FieldSpec("f", xpath=text)) == {"title": "A lamp", "f": None}
