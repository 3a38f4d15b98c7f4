"""The profile of a template: a summary, of bounded size, of the values of its fields."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from corral.domain.quality.distribution import NO_VALUES, Distribution
from corral.domain.quality.value_counts import ValueCounts
from corral.domain.quality.value_shape import ValueShape, describe_value, is_money

MAX_FIELDS = 200
_MAX_UNITS = 16
_MAX_SAMPLES = 8
MAX_SAMPLE_CHARS = 300
_MAX_ITEMS = 100  # items of a list that are profiled
_MAX_DISTINCT = 256
_MAX_DEPTH = 4
_MAX_VALUES = 1_000  # values of one field in one run that are described; filled ones are counted in all records
# After this number of runs, the weight of older ones is halved, so that a profile follows slow changes of a site.
_MAX_RUNS = 60.0
_FLAGS = ("is_placeholder", "is_refusal", "is_cut", "has_label")


@dataclass(slots=True)
class FieldProfile:
    expected: float = 0.0  # records that should have the field
    filled: float = 0.0  # those that have it
    is_required: bool = False
    values: float = 0.0  # more than `filled` for lists
    kinds: ValueCounts = field(default_factory=ValueCounts)
    units: ValueCounts = field(default_factory=ValueCounts)  # currencies, decimal signs, orders of dates
    flags: ValueCounts = field(default_factory=ValueCounts)
    length: Distribution = NO_VALUES
    size: Distribution = NO_VALUES
    items: Distribution = NO_VALUES
    compared: float = 0.0  # values in runs with more than one value, and how many of them were different
    different: float = 0.0
    samples: list[str] = field(default_factory=list)  # the latest different values
    distinct: set[int] = field(default_factory=set)  # hashes of the values of one run; not part of a history

    def add(self, shape: ValueShape) -> None:
        self.values += 1
        self.kinds[shape.kind] += 1
        if shape.units and len(self.units) < _MAX_UNITS:
            for unit in shape.units:
                self.units[unit] += 1
        for flag in _FLAGS:
            if getattr(shape, flag):
                self.flags[flag] += 1
        if shape.kind == "text":
            self.length = self.length.add(max(shape.length, 1))
        if shape.size is not None and shape.size > 0:
            self.size = self.size.add(shape.size)
        if len(self.distinct) < _MAX_DISTINCT:
            self.distinct.add(int.from_bytes(hashlib.blake2b(shape.text.encode(), digest_size=6).digest(), "big"))
        self._remember(shape.text)

    def _remember(self, text: str) -> None:
        sample = text[:MAX_SAMPLE_CHARS]
        if sample not in self.samples:
            self.samples = [*self.samples, sample][-_MAX_SAMPLES:]

    def merge(self, run: "FieldProfile") -> None:
        """Add the values of one more run."""
        self.expected += run.expected
        self.filled += run.filled
        self.values += run.values
        self.is_required = run.is_required
        self.kinds.add(run.kinds)
        self.units.add(run.units)
        if len(self.units) > _MAX_UNITS:
            self.units = ValueCounts(self.units.most_common(_MAX_UNITS))
        self.flags.add(run.flags)
        self.length = self.length.merge(run.length)
        self.size = self.size.merge(run.size)
        self.items = self.items.merge(run.items)
        if run.values > 1:
            self.compared += min(run.values, _MAX_DISTINCT)
            self.different += len(run.distinct)
        for sample in run.samples:
            self._remember(sample)

    def scale(self, factor: float) -> None:
        for name in ("expected", "filled", "values", "compared", "different"):
            setattr(self, name, getattr(self, name) * factor)
        for counter in (self.kinds, self.units, self.flags):
            for key in counter:
                counter[key] *= factor
        self.length, self.size = self.length.scale(factor), self.size.scale(factor)
        self.items = self.items.scale(factor)

    def document(self) -> dict[str, Any]:
        return {
            "asked": self.expected,
            "filled": self.filled,
            "values": self.values,
            "compared": self.compared,
            "different": self.different,
            "kinds": dict(self.kinds),
            "units": dict(self.units),
            "flags": dict(self.flags),
            "length": self.length.document(),
            "size": self.size.document(),
            "items": self.items.document(),
            "samples": self.samples,
            "is_required": self.is_required,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "FieldProfile":
        return cls(
            expected=document["asked"],
            filled=document["filled"],
            is_required=document["is_required"],
            values=document["values"],
            kinds=ValueCounts(document["kinds"]),
            units=ValueCounts(document["units"]),
            flags=ValueCounts(document["flags"]),
            length=Distribution.of(document["length"]),
            size=Distribution.of(document["size"]),
            items=Distribution.of(document["items"]),
            compared=document["compared"],
            different=document["different"],
            samples=document["samples"],
        )


@dataclass(slots=True)
class Profile:
    """The data of one run, or of all good runs so far."""

    runs: float = 0.0
    records: Distribution = NO_VALUES  # per run
    fields: dict[str, FieldProfile] = field(default_factory=dict)
    # Number of records of own code, which names their fields: a field that none of them has is missing in all.
    open_records: float = 0.0

    def merge(self, run: "Profile") -> None:
        """Add one more run."""
        self.runs += run.runs
        self.records = self.records.merge(run.records)
        for name, observed in run.fields.items():
            if name in self.fields or len(self.fields) < MAX_FIELDS:
                self.fields.setdefault(name, FieldProfile()).merge(observed)
        if self.runs > _MAX_RUNS:
            self.runs, self.records = self.runs / 2, self.records.scale(0.5)
            for profile in self.fields.values():
                profile.scale(0.5)

    def replace_part(self, name: str | None, run: "Profile") -> None:
        """Replace the history of one field, or with None that of the number of records, by one run."""
        if name is None:
            self.records = run.records.scale(self.runs)
            return
        for inner in [each for each in self.fields if each == name or each.startswith(f"{name}.")]:
            del self.fields[inner]
        for inner, observed in run.fields.items():
            if inner == name or inner.startswith(f"{name}."):
                fresh = self.fields[inner] = FieldProfile()
                fresh.merge(observed)
                fresh.scale(self.runs)

    def document(self) -> dict[str, Any]:
        fields = {name: profile.document() for name, profile in self.fields.items()}
        return {"runs": self.runs, "records": self.records.document(), "fields": fields}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Profile":
        fields = {name: FieldProfile.of(profile) for name, profile in document["fields"].items()}
        return cls(document["runs"], Distribution.of(document["records"]), fields)


def observe(records: Iterable[Mapping[str, Any]], required: Iterable[str], optional: Iterable[str] = ()) -> Profile:
    """Return the profile of one run, for the requested fields."""
    builder = ProfileBuilder()
    for record in records:
        builder.add(record, required, optional)
    return builder.finish()


class ProfileBuilder:
    """Builds the profile of one run, record by record."""

    def __init__(self) -> None:
        self._profile = Profile(1.0)
        self._records = 0
        self._open_fields: set[str] = set()

    @property
    def records(self) -> int:
        return self._records

    def add(self, record: Mapping[str, Any], required: Iterable[str], optional: Iterable[str] = ()) -> None:
        self._records += 1
        for names, is_required in ((required, True), (optional, False)):
            for name in names:
                self._add_field(name, record.get(name), is_required=is_required, depth=0)

    def add_open(self, record: Mapping[str, Any], required: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Add a record of own code, which may have more fields than those requested."""
        requested = {*required, *optional}
        own = [name for name in record if name not in requested]
        self._open_fields.update(own)
        self._profile.open_records += 1
        self.add(record, required, (*optional, *own))

    def finish(self, records: int | None = None) -> Profile:
        """Return the profile. `records` is the total number if only some records were added."""
        for name in self._open_fields & self._profile.fields.keys():
            self._profile.fields[name].expected = self._profile.open_records
        total = self._records if records is None else records
        if total:
            self._profile.records = NO_VALUES.add(total)
        return self._profile

    def _add_field(self, name: str, value: Any, *, is_required: bool, depth: int) -> None:
        fields = self._profile.fields
        if name not in fields and len(fields) >= MAX_FIELDS:
            return
        profile = fields.get(name)
        if profile is None:
            profile = fields[name] = FieldProfile(is_required=is_required)
        profile.expected += 1
        if _is_empty(value):
            return
        profile.filled += 1
        if isinstance(value, list):
            profile.items = profile.items.add(len(value))
        if profile.values >= _MAX_VALUES:
            return
        for item in _values(value):
            if isinstance(item, dict) and not is_money(item):
                if depth < _MAX_DEPTH:
                    for key, inner in item.items():
                        self._add_field(f"{name}.{key}", inner, is_required=False, depth=depth + 1)
            else:
                profile.add(describe_value(item))


def _is_empty(value: Any) -> bool:
    return value is None or value in ([], {}) or (isinstance(value, str) and not value.strip())


def _values(value: Any) -> Iterator[Any]:
    values = value[:_MAX_ITEMS] if isinstance(value, list) else [value]
    for item in values:
        if isinstance(item, list):
            yield from (inner for inner in item[:_MAX_ITEMS] if not _is_empty(inner))
        elif not _is_empty(item):
            yield item
