"""Complete the records of own code with the types and rules of the fields that they name."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from corral.domain.fields.own_code import PARSER_NAME
from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.completeness.flaws import RULE
from corral.domain.runs.outcome import Failed, FailureCode
from corral.extract.fields.complete import FieldValue, complete, is_nothing
from corral.extract.fields.extract import Extraction
from corral.extract.fields.raw import RawValue
from corral.extract.link_classifier import ReadMemory
from corral.extract.own_code.call import CodeError, call_code
from corral.extract.own_code.code_page import CodePage
from corral.extract.types.model import TypeContext
from corral.extract.value_limit import cut_record

# A context entered while own code runs. The reading process notes it, to know whether own code ended the process.
CodeMark = Callable[[], AbstractContextManager[None]]
_MANY_ROWS = 2  # a field is missing if more than one record in two lacks it
_MAX_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class CodeResult:
    """The result of own code for a page. `extraction` has the first record; `failure` is set if the code raised."""

    extraction: Extraction
    rows: tuple[dict[str, Any], ...] = ()
    details: tuple[dict[str, Any], ...] = ()
    links: tuple[str, ...] | None = None
    failure: Failed | None = None


@dataclass(slots=True)
class _Collected:
    """Problems and counts of empty fields over all records of a page."""

    problems: dict[str, str] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)


def no_mark() -> AbstractContextManager[None]:
    return nullcontext()


def run_code(  # noqa: PLR0917 - the parts of one reading
    spec: FieldSpec,
    page: CodePage,
    fields: Sequence[FieldSpec],
    extraction: Extraction,
    context: TypeContext,
    memory: ReadMemory,
    max_links: int,
    mark: CodeMark = no_mark,
) -> CodeResult:
    """Run own code and return its records. Each also has the recipe fields that the code does not set."""
    try:
        with mark():
            output = call_code(spec, page, memory.compile(spec), max_links)
    except CodeError as error:
        return _fail(error)
    collected = _Collected()
    completed = [_complete_row(row, fields, extraction, context, collected) for row in output.rows]
    missing = [
        field_spec.name
        for field_spec in fields
        if not field_spec.optional and _MANY_ROWS * collected.empty.get(field_spec.name, 0) > len(output.rows)
    ]
    if not completed:
        missing = [] if output.links else [PARSER_NAME]
    record, details = completed[0] if completed else ({}, {})
    named = set.intersection(*map(set, output.rows)) if output.rows else set()
    recipe_problems = {name: problem for name, problem in extraction.problems.items() if name not in named}
    problems = {**recipe_problems, **collected.problems}
    first = replace(extraction, record=record, missing=tuple(missing), problems=problems, details=details, raw={})
    return CodeResult(first, tuple(row for row, _ in completed), tuple(detail for _, detail in completed), output.links)


def _fail(error: CodeError) -> CodeResult:
    failure = Failed(FailureCode.EXTRACTION, str(error), "parser", traceback=error.trace)
    return CodeResult(Extraction({}, (PARSER_NAME,)), failure=failure)


def _complete_row(
    row: Mapping[str, Any],
    fields: Sequence[FieldSpec],
    extraction: Extraction,
    context: TypeContext,
    collected: _Collected,
) -> tuple[dict[str, Any], dict[str, Any]]:
    record: dict[str, Any] = {}
    details: dict[str, Any] = {}
    for spec in fields:
        if spec.name in row:
            value = _complete(spec, row[spec.name], context)
            record[spec.name], details[spec.name] = value.value, value.detail()
            _note_problems(collected, spec.name, value)
        else:
            record[spec.name] = extraction.record.get(spec.name)
            details |= {spec.name: detail} if (detail := extraction.details.get(spec.name)) else {}
        if is_nothing(record[spec.name]):
            collected.empty[spec.name] = collected.empty.get(spec.name, 0) + 1
    record |= {name: value for name, value in row.items() if name not in record}
    fitting, cut = cut_record(record)
    collected.problems |= cut
    return fitting, details


def _complete(spec: FieldSpec, value: Any, context: TypeContext) -> FieldValue:
    """Convert a value. The parts of objects, and of objects in lists, stay as the code returned them."""
    plain = replace(spec, type=None) if spec.fields else spec
    return complete(plain, RawValue(value, PARSER_NAME), context)


def _note_problems(collected: _Collected, name: str, value: FieldValue) -> None:
    if value.violations:
        collected.problems.setdefault(name, RULE + "; ".join(value.violations[:_MAX_PROBLEMS]))
    elif value.problems and is_nothing(value.value):
        collected.problems.setdefault(name, "; ".join(value.problems[:_MAX_PROBLEMS]))
