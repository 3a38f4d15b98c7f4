"""What identifies a row in later runs, and a digest that tells whether its data changed."""

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
# Properties of a crawl's records that differ with each crawl, whatever the page says.
VOLATILE = frozenset({"timestamp", "scrape_duration", "retry_attempt", "depth", "change"})


def make_row_key(data: Mapping[str, Any], key: Sequence[str]) -> str | None:
    """The values of the key's fields as one text; None where one of them is missing."""
    found = [_value_at(data, name) for name in key]
    if not found or any(value is None or value in ("", [], {}) for value in found):
        return None
    text = found[0] if len(found) == 1 and isinstance(found[0], str) else _dump(found[0] if len(found) == 1 else found)
    if len(text) <= _MAX_KEY_CHARS:
        return text
    # The index stays small whatever the values are.
    return f"{text[:_MAX_KEY_CHARS]}…{hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()}"


class RowKeys(NamedTuple):
    """The row keys of a run's records in their order; None where the item key identifies the row."""

    keys: tuple[str | None, ...]
    stats: dict[str, Any] = {}  # noqa: RUF012 - never changed


def describe_keys(duplicates: int, missing: int, examples: Iterable[str]) -> dict[str, Any]:
    """What is wrong with the keys of a run: rows whose key another row has, with examples, and rows without one."""
    return {"duplicates": duplicates, "missing": missing, "examples": list(examples)[:_MAX_EXAMPLES]}


def choose_row_keys(records: Sequence[Mapping[str, Any]], key: Sequence[str], url: str) -> RowKeys:
    """The keys of the records of one page. Records that share a key do not have it.

    Without a key the URL identifies the first record.
    """
    if not key:
        return RowKeys((url, *(None for _ in records[1:])))
    found = [make_row_key(data, key) for data in records]
    numbers = Counter(each for each in found if each is not None)
    doubled = {each: number for each, number in numbers.items() if number > 1}
    missing = found.count(None)
    has_problems = doubled or missing
    stats = {ROW_KEYS: describe_keys(sum(doubled.values()), missing, doubled)} if has_problems else {}
    return RowKeys(tuple(None if each in doubled else each for each in found), stats)


def digest_of(data: Mapping[str, Any], ignored: Collection[str] = ()) -> str:
    """A value that is not there and one that is null are the same."""
    kept = {name: value for name, value in data.items() if value is not None and name not in ignored}
    return hashlib.blake2b(orjson.dumps(kept, option=_OPTIONS), digest_size=_DIGEST_BYTES).hexdigest()


def volatile_fields(specs: Collection[FieldSpec], *, is_crawl: bool) -> frozenset[str]:
    """What does not count as a change of a record: the time of the fetch, and what a crawl says about the visit.

    A field with one of these names that is read from the page counts.
    """
    times = frozenset(spec.name for spec in specs if spec.page == "time")
    return (VOLATILE - frozenset(spec.name for spec in specs) if is_crawl else frozenset()) | times


def _value_at(data: Mapping[str, Any], path: str) -> Any:
    """The value of a field, or of a field inside an object: `offer.sku`."""
    if path in data:
        return data[path]
    value: Any = data
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _dump(value: Any) -> str:
    return orjson.dumps(value, option=_OPTIONS).decode()
