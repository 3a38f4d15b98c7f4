"""The key that identifies a row in later runs, and a digest that shows whether its data changed."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from corral.domain.fields.spec import FieldSpec

ROW_KEYS = "row_keys"  # in the statistics of a run: see RowKeys.stats
_MAX_EXAMPLES = 5
_MAX_KEY_CHARS = 200
_DIGEST_BYTES = 16
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
# Properties of a crawl's records that change with each crawl even if the page does not.
VOLATILE = frozenset({"timestamp", "scrape_duration", "retry_attempt", "depth", "change"})


def make_row_key(data: Mapping[str, Any], key: Sequence[str]) -> str | None:
    """Return the values of the key's fields as one text; None if one of them is missing."""
    values = [_value_at(data, name) for name in key]
    if not values or any(value is None or value in ("", [], {}) for value in values):
        return None
    text = (
        values[0]
        if len(values) == 1 and isinstance(values[0], str)
        else _dump(values[0] if len(values) == 1 else values)
    )
    if len(text) <= _MAX_KEY_CHARS:
        return text
    # Bounded, so that the index stays small.
    return f"{text[:_MAX_KEY_CHARS]}…{hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()}"


class RowKeys(NamedTuple):
    """The row keys of a run's records in their order; None if the item key identifies the row."""

    keys: tuple[str | None, ...]
    stats: dict[str, Any] = {}  # noqa: RUF012 - never changed


def describe_keys(duplicates: int, missing: int, examples: Iterable[str]) -> dict[str, Any]:
    """Describe the problems of the keys of a run: rows that share a key, with examples, and rows without one."""
    return {"duplicates": duplicates, "missing": missing, "examples": list(examples)[:_MAX_EXAMPLES]}


def choose_row_keys(records: Sequence[Mapping[str, Any]], key: Sequence[str], url: str) -> RowKeys:
    """Return the row keys of the records of one page. Records that share a key get none.

    Without a record key, the URL identifies the first record.
    """
    if not key:
        return RowKeys((url, *(None for _ in records[1:])))
    keys = [make_row_key(data, key) for data in records]
    numbers = Counter(each for each in keys if each is not None)
    doubled = {each: number for each, number in numbers.items() if number > 1}
    missing = keys.count(None)
    has_problems = doubled or missing
    stats = {ROW_KEYS: describe_keys(sum(doubled.values()), missing, doubled)} if has_problems else {}
    return RowKeys(tuple(None if each in doubled else each for each in keys), stats)


def digest_of(data: Mapping[str, Any], ignored: Collection[str] = ()) -> str:
    """Return a digest of the data, in which a missing value equals null."""
    compared = {name: value for name, value in data.items() if value is not None and name not in ignored}
    return hashlib.blake2b(orjson.dumps(compared, option=_OPTIONS), digest_size=_DIGEST_BYTES).hexdigest()


def volatile_fields(specs: Collection[FieldSpec], *, is_crawl: bool) -> frozenset[str]:
    """Return the fields that do not count as a change: the time of the fetch, and what a crawl records about the visit.

    A field with one of these names that is read from the page does count.
    """
    times = frozenset(spec.name for spec in specs if spec.page == "time")
    return (VOLATILE - frozenset(spec.name for spec in specs) if is_crawl else frozenset()) | times


def _value_at(data: Mapping[str, Any], path: str) -> Any:
    """Return the value of a field, or of a field inside an object: `offer.sku`."""
    if path in data:
        return data[path]
    value: Any = data
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _dump(value: Any) -> str:
    return orjson.dumps(value, option=_OPTIONS).decode()
