"""From a raw value to a typed one, with the problems it has and how sure it is."""

from dataclasses import dataclass, replace
from typing import Any

from corral.domain.fields.rules import check_rules
from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.raw import RawValue
from corral.extract.types.convert import convert
from corral.extract.types.model import TypeContext

_MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The value of a field as it is stored, and how it came about."""

    value: Any
    raw: Any = None
    source: str = ""
    confidence: float = 0.0
    problems: tuple[str, ...] = ()  # what the conversion noticed
    violations: tuple[str, ...] = ()  # of the rules of the field
    dropped: int = 0

    def detail(self) -> dict[str, Any]:
        """What a record keeps beside the value. The raw value is left out where it is the value."""
        told: dict[str, Any] = {"source": self.source, "confidence": round(self.confidence, 2)}
        if self.raw != self.value or type(self.raw) is not type(self.value):
            told["raw"] = self.raw
        if problems := (*self.violations, *self.problems):
            told["problems"] = list(problems[:_MAX_PROBLEMS])
        return told


def complete(spec: FieldSpec, raw: RawValue, context: TypeContext) -> FieldValue:
    """Convert a raw value to the field's type and check its rules."""
    if is_nothing(raw.value):
        value: list[Any] | None = [] if spec.all else None
        return FieldValue(value, value, raw.source, violations=_check_rules(value, spec), dropped=raw.dropped)
    made = FieldValue(raw.value, raw.value, raw.source, raw.confidence, dropped=raw.dropped)
    if spec.type is not None:
        made = _convert(spec, made, context if spec.locale is None else replace(context, language=spec.locale))
    violations = _check_rules(made.value, spec)
    return replace(made, violations=violations) if violations else made


def _convert(spec: FieldSpec, found: FieldValue, context: TypeContext) -> FieldValue:
    kind = spec.type or ""
    if isinstance(found.value, list) and kind != "list":
        each = [convert(value, kind, context) for value in found.value]
        kept = [one.value for one in each if one.value is not None]
        confidence = min((one.confidence for one in each if one.value is not None), default=0.0)
        problems = tuple(f"{place}:{text}" for place, one in enumerate(each) for text in one.problems)
        return replace(found, value=kept, confidence=found.confidence * confidence, problems=problems)
    one = convert(found.value, kind, context)
    return replace(found, value=one.value, confidence=found.confidence * one.confidence, problems=one.problems)


def _check_rules(value: Any, spec: FieldSpec) -> tuple[str, ...]:
    return () if spec.rules is None else check_rules(value, spec.rules)


def is_nothing(value: Any) -> bool:
    """Zero and false are something."""
    return value is None or (isinstance(value, str | list | dict) and not value)
