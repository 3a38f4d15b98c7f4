"""The key of a job's records: the fields by which a row is recognized in later runs."""

from collections.abc import Iterable
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec

MAX_KEY_FIELDS = 10


def parse_record_key(value: Any, *, field: str = "record_key") -> tuple[str, ...]:
    """Parse the names of the key's fields from one name or a list of names; () without a key."""
    if value is None:
        return ()
    names = [value] if isinstance(value, str) else value
    is_names = isinstance(names, list | tuple) and all(isinstance(each, str) and each.strip() for each in names)
    if not is_names or not 1 <= len(names) <= MAX_KEY_FIELDS or len(set(names)) < len(names):
        hint = "for example sku, or [shop, sku]"
        raise BadInput(f"a key is the name of a field, or up to {MAX_KEY_FIELDS} names", field=field, hint=hint)
    return tuple(each.strip() for each in names)


def check_record_key(key: Iterable[str], specs: Iterable[FieldSpec], *, field: str = "record_key") -> None:
    """Raise BadInput for a key that is not among the fields. `offer.sku` is the field `sku` of the object `offer`."""
    fields = tuple(specs)
    if any(spec.is_code for spec in fields):
        return  # own code names its fields when it runs
    for path in key:
        if any(spec.name == path for spec in fields):
            continue
        inside = fields
        for name in path.split("."):
            inner = next((spec for spec in inside if spec.name == name), None)
            if inner is None:
                raise _refuse(path, fields, field)
            if inner.fields and inner.all:
                hint = "an entry of a list is no row; collect the pages of the entries (crawl_mode list)"
                raise BadInput(f"the key {path[:80]!r} is inside the list {name[:80]!r}", field=field, hint=hint)
            inside = inner.fields


def _refuse(path: str, specs: tuple[FieldSpec, ...], field: str) -> BadInput:
    hint = f"the fields are {', '.join(spec.name for spec in specs)[:500]}" if specs else "a key needs fields"
    return BadInput(f"{path[:80]!r} is not among the fields", field=field, hint=hint)


def describe_record_key(key: tuple[str, ...]) -> str | list[str] | None:
    """Return the key in the form in which users write it: one name or a list of names."""
    return (key[0] if len(key) == 1 else list(key)) if key else None
