"""Whatever a page says can be stored: a result must not fail on how it is written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadInput, StorageError
from corral.domain.runs.outcome import Failed, FailureCode
from corral.store.rows import from_json, storable, to_json
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import a_run, add, claim_new

AWKWARD = {
    "nul": "a\0b",
    "half a pair": "a\ud83db",
    "literal escape": "a\\u0000b",
    "large": 2**80,
    "percent": "100 % (%s) %(x)s :p_id",
    "quotes": "'\"`--",
    "emoji": "😀",
    "deep": [[[{"x": [1.5, None, True]}]]],
}


async def test_awkward_values_are_stored(store: Store) -> None:
    lease = await claim_new(store)
    failure = Failed(FailureCode.UNKNOWN, "bad \0 \ud800 message % :x", detail="half \ud800")
    assert await builders.settle(store, builders.partial(lease, [AWKWARD]))
    [record] = await store.records.of_run(lease.run_id, "", 10)
    assert record.data == {**AWKWARD, "nul": "ab", "half a pair": "ab", "large": str(2**80)}

    other = await claim_new(store)
    assert await builders.settle(store, builders.fail(other, failure))
    run = await store.runs.get(other.run_id)
    assert (run.error_message, run.failure_detail) == ("bad   message % :x", "half ")


async def test_a_nested_bomb_is_stored_to_a_depth(store: Store) -> None:
    bomb: list[Any] = []
    for _ in range(2000):
        bomb = [bomb]
    run_id = await add(store, a_run(payload={"bomb": bomb}))
    assert (await store.runs.get(run_id)).payload.document()["bomb"]


async def test_a_long_message_is_cut(store: Store) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.fail(lease, Failed(FailureCode.UNKNOWN, "x" * 1_000_000)))
    assert len((await store.runs.get(lease.run_id)).error_message or "") == 8192


@pytest.mark.parametrize("number", [2**63, 10**30])
async def test_a_number_no_database_has_is_refused(store: Store, number: int) -> None:
    with pytest.raises((BadInput, StorageError)):
        await store.events.feed(number, 10)
    await add(store)


_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(_JSON)
def test_any_value_becomes_json_without_nul_or_halves(value: Any) -> None:
    text = to_json(value)
    assert text.encode()
    assert "\0" not in str(from_json(text))
    assert to_json(from_json(text)) == text


@given(_TEXT)
def test_storable_text_loses_only_what_cannot_be_stored(text: str) -> None:
    stored = storable(text)
    assert stored == "".join(c for c in text if c != "\0" and not "\ud800" <= c <= "\udfff")
