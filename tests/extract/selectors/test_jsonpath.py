"""Paths into JSON answers, and how they are refused."""

import json
import time
from typing import Any

import pytest

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.json_path import MAX_VISITED, TooWide, parse_query, select
from corral.engine.usecases.jobs import check_fields
from corral.extract.page_reader import ReadAnswer, ReadRequest, read_page
from tests.extract.pages.builders import READ_TIME
from tests.slack import SLACK

ITEMS = [
    {"name": "one", "price": 9.5, "tags": ["x", "y"], "old": None},
    {"name": "two", "price": 0, "tags": [], "old": 12},
    {"name": "three", "price": 7, "tags": ["z"], "old": None},
]
DOCUMENT = {"shop": {"name": "Lamps", "a b": 1, "größe": "L", "it's": 2}, "items": ITEMS, "ok": False}


def answer(*fields: FieldSpec, body: bytes | None = None, content_type: str = "application/json") -> ReadAnswer:
    sent = json.dumps(DOCUMENT).encode() if body is None else body
    return read_page(
        ReadRequest(sent, "http://a.example/", "", headers=(("content-type", content_type),), fields=fields), READ_TIME
    )


@pytest.mark.parametrize(
    "path, found",
    [
        ("$.shop.name", ["Lamps"]),
        ("$['shop']['a b']", [1]),
        ('$["shop"]["a b"]', [1]),
        (r"$.shop['it\'s']", [2]),
        ("$.shop.größe", ["L"]),
        ("$.items[0].name", ["one"]),
        ("$.items[-1].name", ["three"]),
        ("$.items[9].name", []),
        ("$.items[-9].name", []),
        ("$.items[*].name", ["one", "two", "three"]),
        ("$.items.*.price", [9.5, 0, 7]),
        ("$.items[1:].name", ["two", "three"]),
        ("$.items[:2].name", ["one", "two"]),
        ("$.items[-2:].name", ["two", "three"]),
        ("$.items[::-1].name", ["three", "two", "one"]),
        ("$.items[0:3:2].name", ["one", "three"]),
        ("$..price", [9.5, 0, 7]),
        ("$..tags[0]", ["x", "z"]),
        ("$..['a b']", [1]),
        ("$.items..[0]", [ITEMS[0], "x", "z"]),
        ("$.items[0].tags", [["x", "y"]]),
        ("$.ok", [False]),
        ("$.shop[0]", []),
        ("$.items.name", []),
        ("$.items[0].old", []),
        ("$.items[*].old", [12]),
        ("$", [DOCUMENT]),
    ],
)
def test_a_field_by_jsonpath(path: str, found: list[Any]) -> None:
    assert answer(FieldSpec("f", jsonpath=path, all=True)).record == {"f": found}
    assert answer(FieldSpec("f", jsonpath=path)).record == {"f": found[0] if found else None}


def test_zero_and_false_are_found_and_nothing_is_missing() -> None:
    read = answer(FieldSpec("ok", jsonpath="$.ok"), FieldSpec("price", jsonpath="$.items[1].price"))
    assert (read.record, read.missing) == ({"ok": False, "price": 0}, ())
    assert answer(FieldSpec("no", jsonpath="$.no")).missing == ("no",)


def test_a_pattern_is_searched_for_in_what_the_path_leads_to() -> None:
    specs = [
        FieldSpec("f", jsonpath="$..name", regex="t(..)", all=True),
        FieldSpec("n", jsonpath="$..price", regex=r"\d"),
    ]
    assert answer(*specs).record == {"f": ["wo", "hr"], "n": "9"}
    assert answer(FieldSpec("o", jsonpath="$.shop", regex="Lamps")).record == {"o": None}


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/xml", ""])
def test_other_documents_have_no_paths(content_type: str) -> None:
    fields = (FieldSpec("f", jsonpath="$..name"), FieldSpec("l", jsonpath="$..name", all=True))
    body = b'<script type="application/ld+json">{"name": "x"}</script>'
    assert answer(*fields, body=body, content_type=content_type).record == {"f": None, "l": []}


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"nul"])
def test_broken_json_has_nothing(body: bytes) -> None:
    assert answer(FieldSpec("f", jsonpath="$..*"), body=body).record == {"f": None}


def test_values_beyond_ten_thousand_are_counted() -> None:
    read = answer(FieldSpec("f", jsonpath="$[*]", all=True), body=json.dumps(list(range(1, 10_006))).encode())
    assert (len(read.record["f"]), read.dropped) == (10_000, {"f": 5})


def test_paths_that_multiply_end_and_cost_their_own_field() -> None:
    document: Any = {"name": "x"}
    for _ in range(60):
        document = [document, document]
    wide = json.dumps([[[[[[1] * 8] * 8] * 8] * 8] * 8]).encode()
    started = time.process_time()
    read = answer(FieldSpec("f", jsonpath="$" + "..*" * 6), FieldSpec("g", jsonpath="$[0][0][0][0][0][0]"), body=wide)
    assert (read.record, read.problems) == ({"f": None, "g": 1}, {"f": "limit:selector"})
    with pytest.raises(TooWide):
        select(document, parse_query("$..name", field="f"))
    assert time.process_time() - started < 10
    assert MAX_VISITED <= 1_000_000


@pytest.mark.parametrize(
    "path, said",
    [
        ("", "position 0: it begins with $"),
        ("a.b", "position 0: it begins with $"),
        ("$.", "position 1: '.' is no step"),
        ("$.a[", "position 3: '[' is no step"),
        ("$.a..", "position 3"),
        ("$.a[?(@.b)]", "position 3: '[?(@.b)]' is no step"),
        ("$.a[0,1]", "position 3"),
        ("$.a['b]", "position 3"),
        ("$.a[::0]", "position 3"),
        ("$.a[99999999999]", "position 3"),
        ("$ .a", "position 1"),
        ("$.a[b=path.1]", "only recipes do"),
        ("$" + ".a" * 500, "more than 1000"),
        ("$.env[system('id')]", "position 5"),
    ],
)
def test_what_is_no_path_is_refused_with_the_place(path: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_fields([FieldSpec("title"), FieldSpec("f", jsonpath=path)])
    assert said in refused.value.message
    assert (refused.value.field, refused.value.code) == ("fields.1", "bad_selector")


def test_reading_a_path_takes_no_time() -> None:
    started = time.monotonic()
    for path in ("$" + "." * 999, "$" + "[" * 999, "$['" + "\\" * 996, "$" + "..a" * 333, "$" + "[*]" * 333):
        try:
            parse_query(path, field="f")
        except BadInput:
            continue
    assert time.monotonic() - started < 1 * SLACK
