import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadInput
from corral.domain.json_shape import MAX_DEPTH, MAX_VALUES, JsonShape, find_repeated_key

TEXT = st.text(alphabet='ab"\\[]{},:\n é', max_size=8)
DOCUMENTS = st.recursive(
    st.none() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=30,
)


def _depth(document: Any) -> int:
    if isinstance(document, dict):
        return 1 + max(map(_depth, document.values()), default=0)
    return 1 + max(map(_depth, document), default=0) if isinstance(document, list) else 0


def _verdict(body: bytes, pieces: int = 1) -> str:
    shape = JsonShape()
    size = -(-len(body) // pieces)
    try:
        for start in range(0, len(body), size):
            shape.feed(body[start : start + size])
    except BadInput as problem:
        return problem.code
    return "fine"


@given(DOCUMENTS, st.integers(0, 40), st.integers(1, 50))
def test_depth_is_counted_outside_of_strings_however_the_document_is_cut(document: Any, more: int, pieces: int) -> None:
    body = b'{"a":' * more + json.dumps(document, ensure_ascii=False).encode() + b"}" * more
    expected = "too_deep" if _depth(document) + more > MAX_DEPTH else "fine"
    assert _verdict(body, min(pieces, len(body))) == expected


@pytest.mark.parametrize("unit", [b"1,", b"[],", b"{},", b'"",'])
def test_values_are_counted(unit: bytes) -> None:
    assert _verdict(b"[" + unit * (MAX_VALUES // 2 - 2) + b"1]", 7) == "fine"
    assert _verdict(b"[" + unit * (MAX_VALUES + 1) + b"1]", 7) == "too_many_values"


@pytest.mark.parametrize(
    "body, repeated",
    [
        (b'{"a": 1, "b": {"a": 1}}', None),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "c"),
        (b'{"a": 1, "\\u0061": 2}', "a"),
        (b'[{"a": 1}, {"a": 1}]', None),
        (b"[" + b"9" * 5000 + b"]", None),
    ],
)
def test_a_repeated_key_is_found(body: bytes, repeated: str | None) -> None:
    assert find_repeated_key(body) == repeated
