"""A value that is too long is cut, and the field is named: never one without the other."""

from typing import Any

import orjson
import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.completeness.flaws import VALUE_CUT
from corral.extract.page_reader import ReadRequest, read_page
from tests.extract.pages.builders import READ_TIME

LIMIT = 1000
HTML = (("content-type", "text/html"),)


def read(
    body: str, *fields: FieldSpec, kind: str = "text/html", most: int = LIMIT
) -> tuple[dict[str, Any], dict[str, str]]:
    request = ReadRequest(
        body.encode(), "http://a.test/", "http://a.test/", 200, (("content-type", kind),), fields, max_value_chars=most
    )
    answer = read_page(request, READ_TIME)
    return answer.record, answer.problems


@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2, 10 * LIMIT])
@pytest.mark.parametrize("text", ["x", "ab ", "é"])
def test_what_fits_is_whole_and_what_does_not_is_cut_and_named(length: int, text: str) -> None:
    value = (text * length)[:length].strip()
    page = f"<title>t</title><p class=a>{value}</p><script>0</script>"
    specs = (FieldSpec("css", css=".a"), FieldSpec("xpath", xpath="//p"), FieldSpec("all", css=".a", all=True))
    record, problems = read(page, *specs)
    if len(value) <= LIMIT:
        assert (record, problems) == ({"css": value, "xpath": value, "all": [value]}, {})
    else:
        assert problems == {"css": VALUE_CUT, "xpath": VALUE_CUT, "all": VALUE_CUT}
        assert record == {"css": value[:LIMIT], "xpath": value[:LIMIT], "all": [value[:LIMIT]]}


def test_json_and_text_are_held_to_it_too() -> None:
    body = orjson.dumps({"a": "x" * 5000, "b": {"c": ["y" * 5000, "short"]}, "n": 1}).decode()
    specs = (FieldSpec("a"), FieldSpec("b", jsonpath="$.b"), FieldSpec("n"))
    record, problems = read(body, *specs, kind="application/json")
    assert record == {"a": "x" * LIMIT, "b": {"c": ["y" * LIMIT, "short"]}, "n": 1}
    assert problems == {"a": VALUE_CUT, "b": VALUE_CUT}
    record, problems = read("z" * 5000, FieldSpec("text"), kind="text/plain")
    assert (len(record["text"]), problems) == (LIMIT, {"text": VALUE_CUT})


def test_the_limit_can_be_raised() -> None:
    value = "word " * 50_000
    record, problems = read(f"<p class=a>{value}</p>", FieldSpec("a", css=".a"), most=300_000)
    assert (record, problems) == ({"a": value.strip()}, {})
