import contextlib
from collections.abc import Iterator

import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.outcome import Failed
from corral.extract.documents import is_text
from corral.extract.page_reader import TOO_DEEP, ReadRequest, nothing_found, read_page
from tests.extract.pages.builders import READ_TIME

URL = "http://shop.example/lamp"
TITLE, PRICE = FieldSpec("title"), FieldSpec("price", css=".price")
LAMP = b"<title>Lamp</title><h1>Lamp</h1><p class=price>9.50</p><a href=/next>on</a>"


def a_request(
    body: bytes, *fields: FieldSpec, content_type: str = "text/html", status: int = 200, url: str = URL
) -> ReadRequest:
    return ReadRequest(body, url, URL, status, (("content-type", content_type),), fields or (TITLE, PRICE))


def test_a_page_is_decoded_parsed_and_extracted() -> None:
    body = "<title>Lämp</title><p class=price>9,50 €</p>".encode("cp1252")
    answer = read_page(a_request(body, TITLE, PRICE, FieldSpec("links", all=True), content_type="text/html"), READ_TIME)
    assert answer.record == {"title": "Lämp", "price": "9,50 €", "links": []}
    assert answer.missing == ("links",)
    assert (answer.title, answer.encoding, answer.replacements) == ("Lämp", "cp1252", 0)
    assert (answer.failure, answer.verdict, answer.refused, answer.problems) == (None, None, None, {})


def test_a_not_found_page_of_which_only_the_title_is_asked_for_is_none() -> None:
    body = b"<title>Page not found</title><h1>404</h1><p>Sorry, the page you requested could not be found."
    heading = FieldSpec("title", css="h1")
    for fields, is_gone in (((TITLE,), True), ((heading,), False)):
        failure = read_page(a_request(body, *fields), READ_TIME).failure
        assert (failure.detail if failure else None) == ("soft_404" if is_gone else None)


def test_what_cannot_be_decoded_is_counted() -> None:
    answer = read_page(a_request(b"<title>a\xffb</title>", content_type="text/html; charset=utf-8"), READ_TIME)
    assert (answer.title, answer.encoding, answer.replacements) == ("a\ufffdb", "utf-8", 1)


def test_addresses_are_made_whole_with_that_of_the_page() -> None:
    answer = read_page(a_request(LAMP, FieldSpec("next", css="a", attr="href")), READ_TIME)
    assert answer.record == {"next": "http://shop.example/next"}


def test_json_and_text_have_no_title_and_fill_what_they_can() -> None:
    read = read_page(a_request(b'{"title": "Lamp", "price": 9}', content_type="application/json"), READ_TIME)
    assert (read.record, read.missing, read.title) == ({"title": "Lamp", "price": None}, ("price",), None)
    read = read_page(a_request(b" a text ", FieldSpec("text"), content_type="text/plain"), READ_TIME)
    assert (read.record, read.missing, read.title) == ({"text": "a text"}, (), None)


def test_a_page_nested_too_deeply_is_refused_and_its_encoding_told() -> None:
    answer = read_page(a_request(b"<div>" * 20_000), READ_TIME)
    assert (answer.refused, answer.encoding, answer.record) == (TOO_DEEP, "utf-8", {})


def test_a_page_nested_deeply_is_read() -> None:
    body = b"<title>Lamp</title>" + b"<div>" * 5_000 + b"<p class=price>9.50</p><p>" + b"A lamp. " * 300
    answer = read_page(a_request(body), READ_TIME)
    assert (answer.record, answer.failure, answer.refused) == ({"title": "Lamp", "price": "9.50"}, None, None)


@pytest.mark.parametrize("status, detail", [(404, "http_404"), (429, "http_429"), (503, "http_503")])
def test_a_bad_status_is_a_failure_with_its_record_kept_apart(status: int, detail: str) -> None:
    answer = read_page(a_request(LAMP, status=status), READ_TIME)
    assert isinstance(answer.failure, Failed)
    assert (answer.failure.detail, answer.failure.http_status) == (detail, status)
    assert answer.failure.stats == {}


def test_a_wall_behind_a_good_status_is_seen_through() -> None:
    body = b"<title>Log in</title><form action=/login><input name=u><input type=password><button>Log in</button></form>"
    answer = read_page(a_request(body, FieldSpec("price"), url="http://shop.example/login?next=/lamp"), READ_TIME)
    assert answer.failure is not None
    assert answer.failure.detail == "login_wall"
    assert answer.verdict is not None
    assert answer.verdict["kind"] == "login_wall"


def test_nobody_is_judged_who_is_not_to_be() -> None:
    request = ReadRequest(LAMP, URL, URL, 404, (), (TITLE,), should_classify=False)
    assert read_page(request, READ_TIME).failure is None


def test_a_first_look_answers_one_question() -> None:
    shell = b"<title>App</title><div id=root></div><script src=/a.js></script>"
    looked = [ReadRequest(body, URL, URL, fields=(FieldSpec("price"),), is_shell_check=True) for body in (shell, LAMP)]
    assert [read_page(request, READ_TIME).is_shell for request in looked] == [True, False]
    assert read_page(looked[0], READ_TIME).record == {}
    deep = ReadRequest(b"<div id=root>" * 20_000, URL, URL, is_shell_check=True)
    assert not read_page(deep, READ_TIME).is_shell


def test_every_selector_is_guarded_and_no_other_field() -> None:
    entered = []

    @contextlib.contextmanager
    def guard(place: int) -> Iterator[None]:
        entered.append(place)
        yield

    answer = read_page(a_request(LAMP, TITLE, PRICE, FieldSpec("h1"), FieldSpec("on", css="a")), READ_TIME, guard)
    assert entered == [1, 3]
    assert not answer.missing


def test_a_field_that_is_skipped_is_missing_with_a_reason() -> None:
    every = FieldSpec("every", css="p", all=True)
    answer = read_page(a_request(LAMP, TITLE, PRICE, every), READ_TIME, skipped={1, 2})
    assert answer.record == {"title": "Lamp", "price": None, "every": []}
    assert answer.missing == ("price", "every")
    assert answer.problems == {"price": "limit:selector", "every": "limit:selector"}


@pytest.mark.parametrize(
    "content_type, body, expected",
    [
        ("text/html", b"\0", True),
        ("image/png", b"text", False),
        ("", b"text", True),
        ("", b"\x89PNG\0", False),
        ("application/json", b"{}", True),
        ("application/atom+xml", b"<feed/>", True),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK", False),
        ("application/pdf", b"%PDF", False),
    ],
)
def test_text_is_told_by_its_type_or_else_by_its_bytes(content_type: str, body: bytes, expected: bool) -> None:
    assert is_text(content_type, body) is expected


def test_a_page_that_cannot_be_read_has_every_field_missing() -> None:
    nothing = nothing_found((TITLE, FieldSpec("all", all=True)))
    assert (nothing.record, nothing.missing) == ({"title": None, "all": []}, ("title", "all"))
