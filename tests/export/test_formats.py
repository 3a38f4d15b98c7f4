"""Every format is read back by somebody else's program, and says what was collected."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.export import columns as columns_module
from corral.export.columns import Columns
from corral.export.formats import Format
from corral.export.outbox import Outbox
from corral.export.stream import writer_for
from corral.export.xlsx import CELL_CHARS, XlsxWriter
from tests.export import reading

NASTY = [
    *("=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\ttab", "\rreturn", "\nline", "＝1", "＋1", "－1", "＠1"),
    *(
        "'=1",
        "''-2",
        "'quoted'",
        '"quoted"',
        "a,b;c\td",
        "a\r\nb",
        " spaces ",
        "\ufeffmark",
        "é\u2028\u202e🙂",
        "_x0041_",
    ),
    *("<b>&amp;</b>", "]]>", "\x01\x1f", "", "0012", "1e5", "true", "null"),
]
RECORDS: list[dict[str, Any]] = [
    {"text": text, "n": number, "share": number / 4, "is_odd": number % 2 == 1, "tags": ["a", text], "about": {"k": 1}}
    for number, text in enumerate(NASTY)
]


def write(kind: Format, records: list[dict[str, Any]], asked: tuple[str, ...] = ()) -> bytes:
    columns, out = Columns(asked), Outbox()
    columns.scan(records)
    writer = writer_for(kind, out, columns)
    for start in range(0, len(records), 7):
        writer.add(records[start : start + 7])
    writer.end()
    return out.take()


def test_json_and_jsonl_say_the_same_to_the_last_character() -> None:
    assert reading.jsonl(write(Format.JSONL, RECORDS)) == RECORDS
    assert json.loads(write(Format.JSON, RECORDS)) == RECORDS
    assert write(Format.JSONL, [{"b": "é\n", "a": 1.0}]) == '{"b":"é\\n","a":1.0}\n'.encode()
    assert json.loads(write(Format.JSON, [])) == []
    assert write(Format.JSONL, []) == b""


def test_csv_is_exact_but_for_the_apostrophe_that_is_told_of() -> None:
    found = reading.from_csv(write(Format.CSV, RECORDS))
    assert [row["text"] for row in found] == NASTY
    assert [json.loads(row["tags"]) for row in found] == [each["tags"] for each in RECORDS]
    assert [(int(row["n"]), row["is_odd"]) for row in found[:2]] == [(0, "false"), (1, "true")]


@settings(max_examples=40)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
def test_any_text_comes_back_from_csv_and_none_of_it_is_a_formula(texts: list[str]) -> None:
    data = write(Format.CSV, [{"text": text, "n": -1} for text in texts])
    assert [row["text"] for row in reading.from_csv(data)] == texts
    raw = csv.reader(io.StringIO(data.decode(), newline=""))
    assert [row for row in raw if reading.starts_formula(row[1]) and not row[1].startswith("'")] == []


# Zero width, byte order mark, spaces, direction marks, soft hyphen, variation selectors, tags, fillers,
# combining marks, and several of them.
HIDING = [
    "\u200b",
    "\u200c\u200d",
    "\ufeff",
    "\u2060",
    "\u00a0",
    "\u3000",
    "\u202e",
    "\u2066",
    "\u061c",
    "\u00ad",
    "\ufe0f",
]
HIDING += [
    "\U000e0100",
    "\U000e0041",
    "\u3164",
    "\u115f",
    "\u2800",
    "\u034f",
    "\u180e",
    "\u2028",
    " ",
    "\x01",
    "\x85",
    "\u0301",
]
HIDING += ["'\u200b", "\u200b' \ufeff", "\ue000"]


@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "＝", "﹦", "⁼", "＠", "\u2212"])
def test_a_formula_behind_characters_that_nobody_sees_gets_its_apostrophe(hiding: str, start: str) -> None:
    text = f"{hiding}{start}HYPERLINK(1)"
    data = write(Format.CSV, [{"text": text}])
    assert data.decode().split("\r\n")[1].strip('"').startswith("'")
    assert reading.from_csv(data) == [{"text": text}]
    assert reading.xlsx(write(Format.XLSX, [{"text": text}]))["records"][1] == [text]


@pytest.mark.parametrize("text", ["plain", "\u200bplain", " a=b", "\u05e9=1", "'quoted'", "1-2", "\ufeffé"])
def test_a_text_that_is_no_formula_stays_as_it_is(text: str) -> None:
    assert write(Format.CSV, [{"text": text}]).decode() == f"text\r\n{text}\r\n"


def test_the_columns_are_those_asked_for_and_then_all_others_by_name() -> None:
    records: list[dict[str, Any]] = [{"z": 1, "title": "a"}, {"b": 2}, {"title": "c", "a": 3}]
    head, *rows = write(Format.CSV, records, ("title", "price")).decode().splitlines()
    assert (head, rows) == ("title,price,a,b,z", ["a,,,,1", ",,,2,", "c,,3,,"])
    assert write(Format.CSV, [], ("title", "=x")).decode() == "title,'=x\r\n"


def test_parquet_has_one_type_for_each_column() -> None:
    found = reading.parquet(write(Format.PARQUET, RECORDS))
    plain = ("text", "n", "share", "is_odd")
    assert [{name: row[name] for name in plain} for row in found] == [
        {name: each[name] for name in plain} for each in RECORDS
    ]
    assert [json.loads(row["tags"]) for row in found] == [each["tags"] for each in RECORDS]


@pytest.mark.parametrize(
    "values, kind, read",
    [
        ([1, None, 2**62], "int64", [1, None, 2**62]),
        ([1, 2.5], "double", [1.0, 2.5]),
        ([True, False], "bool", [True, False]),
        ([None, None], "string", [None, None]),
        ([12, "N/A", "12"], "string", ["12", '"N/A"', '"12"']),
        ([2**62, 0.5], "string", [str(2**62), "0.5"]),
        ([2**64 - 1], "string", [str(2**64 - 1)]),
        ([True, 1], "string", ["true", "1"]),
        ([["a"], {"b": None}], "string", ['["a"]', '{"b":null}']),
    ],
)
def test_what_does_not_fit_one_type_is_json(values: list[Any], kind: str, read: list[Any]) -> None:
    data = write(Format.PARQUET, [{"v": value} for value in values])
    assert [row["v"] for row in reading.parquet(data)] == read
    field = reading.parquet_file(data).schema_arrow.field("v")
    assert str(field.type) == kind
    is_json = kind == "string" and values != [None, None]
    assert ((field.metadata or {}).get(b"corral:encoding") == b"json") == is_json


def test_parquet_is_written_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.export.parquet._GROUP_ROWS", 10)
    data = write(Format.PARQUET, RECORDS)
    about = reading.parquet_file(data).metadata
    assert about.num_row_groups == -(-len(RECORDS) // 10)
    monkeypatch.setattr("corral.export.parquet._GROUP_CHARS", 1)
    data = write(Format.PARQUET, RECORDS[:3])
    assert reading.parquet_file(data).metadata.num_row_groups == 3


def test_a_workbook_has_texts_numbers_and_truth_but_no_formula() -> None:
    [head, *rows] = reading.xlsx(write(Format.XLSX, RECORDS, ("text",)))["records"]
    assert head == ["text", "about", "is_odd", "n", "share", "tags"]
    assert [row[0] or "" for row in rows] == NASTY
    assert [row[2:5] for row in rows] == [[each["is_odd"], each["n"], each["share"]] for each in RECORDS]
    assert [json.loads(row[5]) for row in rows] == [each["tags"] for each in RECORDS]
    long = reading.xlsx(write(Format.XLSX, [{"id": 2**62}, {"id": 7}, {"id": None}]))["records"]
    assert [row[:1] for row in long] == [["id"], [str(2**62)], [7], [None]]


def test_texts_too_long_for_a_cell_go_on_in_the_next_column() -> None:
    texts = ["x" * CELL_CHARS, "y" * (2 * CELL_CHARS + 5), "🙂" * CELL_CHARS, "short", '["' + "z" * 40_000]
    records = [{"text": text, "list": [text]} for text in texts]
    [head, *rows] = reading.xlsx(write(Format.XLSX, records))["records"]
    parts = {name: [place for place, each in enumerate(head) if each.startswith(name)] for name in ("text", "list")}
    assert [head[place] for place in parts["text"]] == ["text", "text (2)", "text (3)"]
    assert ["".join(row[place] or "" for place in parts["text"]) for row in rows] == texts
    assert [json.loads("".join(row[place] or "" for place in parts["list"])) for row in rows] == [[t] for t in texts]
    units = [len(str(cell).encode("utf-16-le")) // 2 for row in rows for cell in row]
    assert max(units) <= CELL_CHARS


def test_more_rows_than_a_sheet_takes_go_on_in_the_next_sheet() -> None:
    columns, out = Columns(), Outbox()
    records = [{"n": number} for number in range(10)]
    columns.scan(records)
    writer = XlsxWriter(out, columns, sheet_rows=5)
    assert writer.add(records) == 10
    writer.end()
    sheets = reading.xlsx(out.take())
    assert {name: [row[0] for row in rows] for name, rows in sheets.items()} == {
        "records": ["n", 0, 1, 2, 3],
        "records 2": ["n", 4, 5, 6, 7],
        "records 3": ["n", 8, 9],
    }


def test_what_no_table_can_hold_is_refused_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "MAX_COLUMNS", 3)
    with pytest.raises(BadInput, match="different fields") as refused:
        Columns().scan([{f"key {number}": 1} for number in range(5)])
    assert "jsonl" in str(refused.value.hint)
    columns, out = Columns(), Outbox()
    columns.scan([{"a": "x"}])
    columns["a"].longest = 16_385 * CELL_CHARS
    with pytest.raises(BadInput, match="columns and a sheet of Excel has 16,384"):
        writer_for(Format.XLSX, out, columns)
    assert out.take() == b""


@pytest.mark.parametrize("kind", [Format.CSV, Format.PARQUET, Format.XLSX])
def test_a_record_that_came_after_the_columns_were_found_is_left_out_where_it_does_not_fit(kind: Format) -> None:
    columns, out = Columns(), Outbox()
    columns.scan([{"a": 1, "t": "x"}])
    writer = writer_for(kind, out, columns)
    fits = {"a": 2, "t": ""}
    assert writer.add([{"a": 1, "t": "x"}, {"a": "text"}, {"b": 1}, {"t": "longer"}, fits]) == 2
    writer.end()


@pytest.mark.parametrize("kind", [each for each in Format if each is not Format.WARC])
def test_the_same_records_make_the_same_file(kind: Format) -> None:
    assert write(kind, RECORDS) == write(kind, RECORDS)
