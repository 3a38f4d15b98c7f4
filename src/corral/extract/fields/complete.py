"""Complete a raw value: convert it to the type of its field and check the rules."""

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
    """The value of a field as it is stored, and its origin."""

    value: Any
    raw: Any = None
    source: str = ""
    confidence: float = 0.0
    problems: tuple[str, ...] = ()  # of the conversion
    violations: tuple[str, ...] = ()  # of the rules of the field
    dropped: int = 0

    def detail(self) -> dict[str, Any]:
        """Return what a record stores beside the value. The raw value is left out if it equals the value."""
        detail: dict[str, Any] = {"source": self.source, "confidence": round(self.confidence, 2)}
        if self.raw != self.value or type(self.raw) is not type(self.value):
            detail["raw"] = self.raw
        if problems := (*self.violations, *self.problems):
            detail["problems"] = list(problems[:_MAX_PROBLEMS])
        return detail


def complete(spec: FieldSpec, raw: RawValue, context: TypeContext) -> FieldValue:
    """Convert a raw value to the field's type and check its rules."""
    if is_nothing(raw.value):
        value: list[Any] | None = [] if spec.all else None
        return FieldValue(value, value, raw.source, violations=_check_rules(value, spec), dropped=raw.dropped)
    completed = FieldValue(raw.value, raw.value, raw.source, raw.confidence, dropped=raw.dropped)
    if spec.type is not None:
        completed = _convert(
            spec, completed, context if spec.locale is None else replace(context, language=spec.locale)
        )
    violations = _check_rules(completed.value, spec)
    return replace(completed, violations=violations) if violations else completed


def _convert(spec: FieldSpec, found: FieldValue, context: TypeContext) -> FieldValue:
    kind = spec.type or ""
    if isinstance(found.value, list) and kind != "list":
        results = [convert(value, kind, context) for value in found.value]
        values = [entry.value for entry in results if entry.value is not None]
        confidence = min((entry.confidence for entry in results if entry.value is not None), default=0.0)
        problems = tuple(f"{index}:{text}" for index, entry in enumerate(results) for text in entry.problems)
        return replace(found, value=values, confidence=found.confidence * confidence, problems=problems)
    result = convert(found.value, kind, context)
    return replace(found, value=result.value, confidence=found.confidence * result.confidence, problems=result.problems)


def _check_rules(value: Any, spec: FieldSpec) -> tuple[str, ...]:
    return () if spec.rules is None else check_rules(value, spec.rules)


def is_nothing(value: Any) -> bool:
    """Return whether a value is None or empty. Zero and False are values."""
    return value is None or (isinstance(value, str | list | dict) and not value)
