"""The verdict on the data of a run: whether it is as good as that of earlier runs. Pure."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corral.domain.quality.profile import MAX_SAMPLE_CHARS, FieldProfile, Profile
from corral.domain.quality.thresholds import Thresholds
from corral.domain.quality.value_shape import swap_date

_UNLIKELY = 0.001
_RARE = 0.02  # shares of a history below this count as never
_FEW = 3  # values below this number are judged one by one, not as a sample
_MAX_EXAMPLE_CHARS = 80
_MARGIN = 0.965
_MIN_LOST = 1.5  # items of a list, on average
_MIN_SAMPLES = 5
_MIN_RECOGNIZED = 4  # characters by which a value is recognized inside another one
_MIN_CUT = 40  # characters of a text whose beginning alone is a loss; "Blue chair" may become "Blue"
_MIN_LABELLED = 3  # words of a text before which a label without a colon is recognized; "not available" has none
_HEAD_CHARS = 80
_MAX_LABEL_CHARS = 40


class Grade(StrEnum):
    OK = "ok"
    SUSPECT = "suspect"  # differs from its history
    BROKEN = "broken"  # most values of a field are lost, or the page is another one


@dataclass(frozen=True, slots=True)
class DataFinding:
    """One deviation from the history. Without a field, it concerns the records as a whole."""

    field: str | None
    what: str
    before: Any
    after: Any
    grade: Grade = Grade.SUSPECT
    template: str = ""  # the URL pattern, of a crawl with fields by pattern

    def document(self) -> dict[str, Any]:
        where = {"template": self.template} if self.template else {}
        return {
            **where,
            "field": self.field,
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "verdict": self.grade.value,
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "DataFinding":
        parts = {name: document[name] for name in ("field", "what", "before", "after")}
        return cls(**parts, grade=Grade(document["verdict"]), template=document.get("template", ""))


@dataclass(frozen=True, slots=True)
class DataVerdict:
    findings: tuple[DataFinding, ...] = ()

    @property
    def grade(self) -> Grade:
        if not self.findings:
            return Grade.OK
        is_broken = any(finding.grade is Grade.BROKEN for finding in self.findings)
        return Grade.BROKEN if is_broken else Grade.SUSPECT

    @property
    def is_ok(self) -> bool:
        return not self.findings


def has_history(history: Profile, thresholds: Thresholds) -> bool:
    """Return whether there are enough good runs; two suffice if they have many records."""
    records = max((field.expected for field in history.fields.values()), default=0.0)
    return history.runs >= thresholds.min_history or (history.runs >= 2 and records >= 10 * thresholds.min_history)


def judge(history: Profile, run: Profile, thresholds: Thresholds) -> DataVerdict:
    """Compare a run with its history. With too little history, the verdict is empty."""
    if not thresholds.is_on or not has_history(history, thresholds):
        return DataVerdict()
    findings = list(_judge_records(history, run, thresholds))
    for name, past in history.fields.items():
        if name.partition(".")[0] in thresholds.ignore or past.expected < thresholds.min_history:
            continue
        observed = run.fields.get(name)
        if observed is not None:
            findings += _judge_field(name, past, observed, thresholds)
        elif run.open_records and "." not in name:
            findings += _judge_field(name, past, FieldProfile(expected=run.open_records), thresholds)
        elif _parent_has_values(name, run.fields):
            findings += _judge_field(name, past, FieldProfile(expected=past.expected / history.runs), thresholds)
    return DataVerdict(tuple(findings))


def _parent_has_values(name: str, fields: Mapping[str, FieldProfile]) -> bool:
    """Return whether the object around a field has values: without an object, the field is not expected."""
    parent, _, inner = name.rpartition(".")
    return bool(inner) and parent in fields and fields[parent].filled > 0


def _judge_records(history: Profile, run: Profile, thresholds: Thresholds) -> Iterator[DataFinding]:
    if history.runs < thresholds.min_history or history.records.typical < 3:
        return
    before, after = history.records.typical, run.records.typical if run.records.number else 0.0
    # With a margin below the minimum so far and below the share: a few runs do not show the whole usual range. The
    # constant is for short lists, of which one record is a large share.
    least = min(0.95 * math.exp(history.records.low), _MARGIN * (1 - thresholds.drop) * before)
    if after + 0.25 < least and before - after >= 2:
        grade = Grade.BROKEN if after < before / 4 else Grade.SUSPECT
        yield DataFinding(None, "records", round(before), round(after), grade)


def _judge_field(name: str, history: FieldProfile, observed: FieldProfile, limits: Thresholds) -> list[DataFinding]:
    if lost := _judge_fill(name, history, observed, limits):
        return [lost]
    if not observed.values or history.values < limits.min_history:
        return []
    for check in (_judge_flags, _judge_kind, _judge_unit, _judge_sizes, _judge_sameness, _judge_samples):
        # One finding per field: the others follow from it.
        if finding := check(name, history, observed):
            return [finding]
    return []


def _judge_fill(name: str, history: FieldProfile, observed: FieldProfile, limits: Thresholds) -> DataFinding | None:
    if not observed.expected or not history.expected:
        return None
    before, after = history.filled / history.expected, observed.filled / observed.expected
    if before - after < limits.drop:
        return None
    if observed.expected < _FEW and history.is_required and before > 1 - _RARE:
        is_unlikely = True
    else:
        chance = (history.filled + 0.5) / (history.expected + 1)
        bound = _UNLIKELY if observed.expected >= _FEW else 0.05
        is_unlikely = _tail(round(observed.filled), round(observed.expected), chance) < bound
    if not is_unlikely:
        return None
    grade = Grade.BROKEN if after <= 0.1 else Grade.SUSPECT
    return DataFinding(name, "fill_rate", round(before, 3), round(after, 3), grade)


_MARKS = {
    "is_placeholder": ("placeholder", Grade.BROKEN),
    "is_refusal": ("error_page", Grade.BROKEN),
    "has_label": ("label", Grade.SUSPECT),
    "is_cut": ("truncated", Grade.SUSPECT),
}
_CLEAR = frozenset({"is_placeholder", "is_refusal"})  # even in a single value


def _judge_flags(name: str, history: FieldProfile, observed: FieldProfile) -> DataFinding | None:
    for flag, (what, grade) in _MARKS.items():
        before, after = history.flags[flag] / history.values, observed.flags[flag] / observed.values
        if observed.values < _FEW:
            is_worse = flag in _CLEAR and before < _RARE and after > 0
        else:
            chance = (history.flags[flag] + 0.5) / (history.values + 1)
            misses = round(observed.values - observed.flags[flag])
            is_worse = after - before >= 0.3 and _tail(misses, round(observed.values), 1 - chance) < _UNLIKELY
        if is_worse:
            return DataFinding(name, what, _example(history), _example(observed), grade)
    return None


def _judge_kind(name: str, history: FieldProfile, observed: FieldProfile) -> DataFinding | None:
    strange = sum(count for kind, count in observed.kinds.items() if history.kinds[kind] / history.values < _RARE)
    usual, count = history.kinds.most_common(1)[0]
    unusual = observed.kinds.most_common(1)[0][0]
    if observed.values < _FEW:
        # A title may be a number or look like a path, but not a price or a date.
        is_worse = strange == observed.values and count / history.values > 0.95
        is_worse = is_worse and not (usual == "text" and unusual in ("number", "boolean", "url"))
    else:
        is_worse = strange / observed.values >= 0.4
    return DataFinding(name, "kind", usual, f"{unusual}: {_example(observed)}") if is_worse else None


_NEUTRAL = "numeric"  # does not show the order of day and month


def _judge_unit(name: str, history: FieldProfile, observed: FieldProfile) -> DataFinding | None:
    """Find a currency, decimal sign or date order that the history does not have."""
    for group in sorted({unit.partition(":")[0] for unit in observed.units}):
        before, after = _units_of(history, group), _units_of(observed, group)
        total, now = sum(before.values()), sum(after.values())
        if total < _FEW or not now:
            continue
        strange = {unit: count for unit, count in after.items() if before.get(unit, 0) / total < _RARE}
        if sum(strange.values()) / now >= 0.3:
            was, became = max(before, key=before.__getitem__), max(strange, key=strange.__getitem__)
            return DataFinding(name, group, was, became)
    return None


def _units_of(profile: FieldProfile, group: str) -> dict[str, float]:
    units = {unit.partition(":")[2]: count for unit, count in profile.units.items() if unit.startswith(f"{group}:")}
    units.pop(_NEUTRAL, None)
    return units


def _judge_sizes(name: str, history: FieldProfile, observed: FieldProfile) -> DataFinding | None:
    # Lists vary more than texts, and numbers vary most. If the value of a page hardly ever changed, its history does
    # not show how far the next value may differ.
    caution = 3.0 if observed.values < _FEW and len(history.samples) < _MIN_SAMPLES else 1.0
    length = 1.7 if observed.length.number >= _FEW else 2.5
    for what, factor in (
        ("length", caution * length),
        ("size", caution * 6.0),
        ("items", _items_factor(history, observed)),
    ):
        before, after = getattr(history, what), getattr(observed, what)
        if before.number >= _FEW and after.is_far_from(before, factor):
            return DataFinding(name, what, round(before.typical, 2), round(after.typical, 2))
    return None


def _items_factor(history: FieldProfile, observed: FieldProfile) -> float:
    """Return how far the number of items may differ: lists grow, and lose an item now and then."""
    lost = history.items.typical - observed.items.typical
    return 1.7 if lost >= _MIN_LOST else 6.0


def _judge_sameness(name: str, history: FieldProfile, observed: FieldProfile) -> DataFinding | None:
    """Find a field that has the same value in all records, and used to have different ones."""
    if observed.values < 5 or len(observed.distinct) > max(1, 0.1 * observed.values):
        return None
    if history.compared < 10 or history.different / history.compared < 0.5:
        return None
    return DataFinding(name, "same_value", round(history.different / history.compared, 2), _example(observed))


def _judge_samples(name: str, history: FieldProfile, observed: FieldProfile) -> DataFinding | None:
    """Find a known value that has gained a label, lost its end, or swapped day and month."""
    if observed.values >= _FEW:
        return None
    for after in observed.samples:
        if after in history.samples:
            continue
        for before in history.samples:
            if what := _compare_texts(before, after):
                return DataFinding(name, what, before[:_MAX_EXAMPLE_CHARS], after[:_MAX_EXAMPLE_CHARS])
    return None


def _compare_texts(before: str, after: str) -> str | None:
    if swap_date(before) == after:
        return "date_order"
    if len(before) >= _MIN_RECOGNIZED and _is_label(after[: max(after.find(before[:_HEAD_CHARS]), 0)], before):
        return "label"
    stem = after.rstrip("….[] ")
    is_shorter = len(stem) < 0.8 * len(before) or (stem != after and len(before) == MAX_SAMPLE_CHARS)
    is_shorter = is_shorter and (stem != after or len(before) >= _MIN_CUT)
    return "truncated" if len(stem) >= _MIN_RECOGNIZED and is_shorter and before.startswith(stem) else None


def _is_label(head: str, text: str) -> bool:
    """Return whether the words before a known text label it.

    A digit before a number, or a negation, makes another value.
    """
    if not 0 < len(head) <= _MAX_LABEL_CHARS or not any(each.isalpha() for each in head):
        return False
    return head.rstrip().endswith((":", "：")) or (head.endswith(" ") and len(text.split()) >= _MIN_LABELLED)


def _example(profile: FieldProfile) -> str:
    return profile.samples[-1][:_MAX_EXAMPLE_CHARS] if profile.samples else ""


def _tail(successes: int, trials: int, chance: float) -> float:
    """Return the probability of at most this number of successes."""
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    if trials > 200:
        spread = math.sqrt(trials * chance * (1 - chance))
        return 0.5 * math.erfc((trials * chance - successes - 0.5) / (spread * math.sqrt(2)))
    terms = (math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(successes + 1))
    return math.fsum(terms)
