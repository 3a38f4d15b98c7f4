"""XML read as XML: feeds, sitemaps, and what only calls itself XML."""

from typing import Any

import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import Survey
from corral.extract.page_reader import ReadAnswer, ReadRequest, read_page
from tests.extract.pages.builders import READ_TIME
from tests.extract.xml.xml_helpers import ATOM, RSS, SITEMAP

URL = "http://news.example/feed"


def read(body: bytes, *fields: FieldSpec, content_type: str = "application/xml", **more: Any) -> ReadAnswer:
    return read_page(
        ReadRequest(body, URL, URL, headers=(("content-type", content_type),), fields=fields, **more), READ_TIME
    )


def one(body: bytes, content_type: str = "application/xml", **recipe: Any) -> Any:
    return read(body, FieldSpec("f", **recipe), content_type=content_type).record["f"]


def test_the_bare_names_of_a_feed() -> None:
    names = ["title", "link", "language", "date", "links", "guid", "price"]
    answer = read(RSS, *map(FieldSpec, names), content_type="application/rss+xml; charset=utf-8")
    assert answer.record == {
        "title": "All & news",
        "link": "https://news.example/",
        "language": "en",
        "date": "Mon, 02 Nov 2026 10:00:00 GMT",
        "links": "https://news.example/",
        "guid": "g1",
        "price": None,
    }
    assert (answer.title, answer.missing, answer.failure) == ("All & news", ("price",), None)
    every = read(RSS, FieldSpec("title", all=True), FieldSpec("links", all=True)).record
    assert every["title"] == ["All & news", "A logo", "One <b>& only</b>", "Two", "upper", "Sound"]
    assert every["links"] == ["https://news.example/", "http://news.example/self"] + [
        f"http://news.example/{n}" for n in (1, 2)
    ]


def test_the_bare_names_of_atom() -> None:
    names = ["title", "description", "author", "modified", "url", "text"]
    assert read(ATOM, *map(FieldSpec, names), content_type="application/atom+xml").record == {
        "title": "Feed",
        "description": "About it",
        "author": "Ann",
        "modified": "2026-11-01T00:00:00Z",
        "url": "http://news.example/here",
        "text": "Text",
    }


@pytest.mark.parametrize(
    "recipe, found",
    [
        ({"css": "item > link"}, "/1"),
        ({"css": "channel > link"}, "https://news.example/"),
        ({"css": "item title", "all": True}, ["One <b>& only</b>", "Two"]),
        ({"css": "Title"}, "upper"),
        ({"css": "guid", "attr": "isPermaLink"}, "false"),
        ({"css": "guid", "attr": "ispermalink"}, None),
        ({"css": "enclosure", "attr": "url"}, "/1.mp3"),
        ({"css": "itunes|title"}, "Sound"),
        ({"css": "item:not(:has(guid)) title"}, "Two"),
        ({"css": ":not(a, b)"}, None),
        ({"xpath": "//item/link", "all": True}, ["/1", "/2"]),
        ({"xpath": "/rss/channel/title"}, "All & news"),
        ({"xpath": "//Title"}, "upper"),
        ({"xpath": "//itunes:title"}, "Sound"),
        ({"xpath": "//atom:link/@href"}, "http://news.example/self"),
        ({"xpath": "//item[1]/enclosure/following-sibling::*"}, None),
        ({"xpath": "count(//item)"}, 2),
        ({"xpath": "//unknown:title"}, None),
        ({"xpath": "//item[2]/title", "regex": "T(.*)"}, "wo"),
        ({"regex": "GMT|UTC"}, "GMT"),
        ({"jsonpath": "$..title"}, None),
    ],
)
def test_selectors_on_a_feed(recipe: dict[str, Any], found: object) -> None:
    assert one(RSS, **recipe) == found


@pytest.mark.parametrize(
    "body, recipe, found",
    [
        (ATOM, {"xpath": "/feed/title"}, "Feed"),
        (ATOM, {"css": "entry > title", "all": True}, ["First", "Second"]),
        (ATOM, {"xpath": "//entry/link/@href", "all": True}, ["http://news.example/a", "http://news.example/b"]),
        (ATOM, {"xpath": "//media:thumbnail/@url"}, "/a.png"),
        (ATOM, {"xpath": "//*[local-name()='thumbnail']", "attr": "url"}, "/a.png"),
        (ATOM, {"xpath": "//content/div/p"}, "Text"),
        (SITEMAP, {"css": "loc", "all": True}, ["http://news.example/1", "http://news.example/2"]),
        (SITEMAP, {"xpath": "//url/loc", "all": True}, ["http://news.example/1", "http://news.example/2"]),
        (SITEMAP, {"xpath": "/urlset/url[lastmod]/loc"}, "http://news.example/1"),
        (SITEMAP, {"xpath": "//image:loc"}, "http://i/1"),
        (SITEMAP, {"css": "image|loc"}, "http://i/1"),
    ],
)
def test_names_are_written_as_the_document_writes_them(body: bytes, recipe: dict[str, Any], found: object) -> None:
    assert one(body, **recipe) == found


@pytest.mark.parametrize(
    "body, found",
    [
        ("<?xml version='1.0' encoding='ISO-8859-1'?><a>Gr\u00fc\u00dfe</a>".encode("latin-1"), "Grüße"),
        ('<?xml version="1.0" encoding="windows-1251"?><a>\u043c\u0438\u0440</a>'.encode("cp1251"), "мир"),
        ('<?xml version="1.0" encoding="UTF-16"?><a>\u043c\u0438\u0440</a>'.encode("utf-16"), "мир"),
        ('<?xml version="1.0" encoding="klingon"?><a>\u043c\u0438\u0440</a>'.encode(), "мир"),
        ("\ufeff<a>\u043c\u0438\u0440</a>".encode(), "мир"),
    ],
)
def test_a_document_says_how_it_is_encoded(body: bytes, found: str) -> None:
    assert one(body, css="a") == found


def test_the_header_comes_before_the_declaration() -> None:
    body = "<?xml version='1.0' encoding='ISO-8859-1'?><a>ü</a>".encode()
    assert one(body, content_type="text/xml; charset=utf-8", css="a") == "ü"


@pytest.mark.parametrize(
    "body, found",
    [
        (b"<r><a>x</r>", "x"),
        (b"<r><a>x", "x"),
        (
            b"<r><a>AT&T x &eacute;&nbsp;&LT;b&GT; &foo; &#0;&#xD800;&#x1F600; 1 &lt; 2</a></r>",
            "AT&T x é <b> &foo; 😀 1 < 2",
        ),
        (b"<r><a><![CDATA[caf&eacute; &amp;]]></a></r>", "caf&eacute; &amp;"),
        (b"<r><a><![CDATA[never closed</a></r>", None),
        (b"<r>\x01\x0b<a>x\x02y</a></r>", "xy"),
        (b"  \n<?xml version='1.0'?><r><a>x</a></r>", "x"),
        (b"<r><a>x</a></r><r><a>y</a></r>trailing", "x"),
        (b"<r><x:a>y</x:a><a>x</a></r>", "x"),
    ],
)
def test_what_is_broken_is_recovered(body: bytes, found: str | None) -> None:
    assert one(body, css="a") == found


@pytest.mark.parametrize(
    "body", [b"", b"   ", b"hello", b'{"a": 1}', b"<", b"<!", b"<?xml", b"<!--", b"<!DOCTYPE", b"\0\0", b"</a>"]
)
def test_what_is_no_xml_at_all_is_never_an_error(body: bytes) -> None:
    answer = read(body, FieldSpec("title"), FieldSpec("a", css="a"), FieldSpec("b", xpath="//b"))
    assert (answer.record, answer.refused) == ({"title": None, "a": None, "b": None}, None)


@pytest.mark.parametrize("content_type", ["text/xml", "application/xml", "application/foo+xml"])
@pytest.mark.parametrize(
    "start",
    [
        "<!doctype html>",
        "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd'>",
        "<?xml version='1.0'?><!-- x -->",
        "Notice: something<br>",
    ],
)
def test_a_page_that_calls_itself_xml_is_read_as_a_page(content_type: str, start: str) -> None:
    rest = (
        "<HTML xmlns='http://www.w3.org/1999/xhtml'><title>Page</title><p class=price>9.50</p><br><a href=/x>y</HTML>"
    )
    fields = (FieldSpec("title"), FieldSpec("price"), FieldSpec("x", xpath="//a/@href"))
    record = read((start + rest).encode(), *fields, content_type=content_type).record
    assert record == {"title": "Page", "price": "9.50", "x": "http://news.example/x"}


@pytest.mark.parametrize("content_type", ["application/xhtml+xml", "image/svg+xml"])
def test_xhtml_and_svg_are_pages_as_browsers_show_them(content_type: str) -> None:
    body = b"""<?xml version="1.0"?><!DOCTYPE svg PUBLIC "x" "y" [<!ENTITY ns "http://svg/">]>
    <html xmlns="http://www.w3.org/1999/xhtml"><head><title>Shown</title></head><body><svg><text>Drawn</text></svg></body></html>"""
    answer = read(body, FieldSpec("title"), FieldSpec("t", css="svg text"), content_type=content_type)
    assert answer.record == {"title": "Shown", "t": "Drawn"}


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", ""])
def test_without_its_type_a_feed_is_read_as_before(content_type: str) -> None:
    assert one(RSS, content_type=content_type, css="item > link") is None


def test_values_beyond_ten_thousand_are_counted() -> None:
    body = b"<r>" + b"<a href='/x'>y</a>" * 10_002 + b"</r>"
    answer = read(body, FieldSpec("a", css="a", attr="href", all=True))
    assert (len(answer.record["a"]), answer.links_dropped) == (10_000, 2)


def test_surveys_count_what_a_run_finds() -> None:
    fields = (
        FieldSpec("a", xpath="//item"),
        FieldSpec("b", css="item > link"),
        FieldSpec("title"),
        FieldSpec("", regex="GMT"),
    )
    answer = read(RSS, *fields, survey=Survey.MATCHES)
    assert (answer.record["counts"], answer.record["is_shell"]) == ([2, 2, 6, 1], False)
    assert read(RSS, survey=Survey.PAGE).record["suggestions"] == []
    listed = read(ATOM, FieldSpec("item_links", "entry > link", "href", True), survey=Survey.LIST).record
    assert (listed["item_count"], listed["samples"]) == (2, ("http://news.example/a", "http://news.example/b"))
