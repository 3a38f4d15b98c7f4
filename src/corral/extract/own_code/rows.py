"""The records that own code makes of a page, with the types and rules of the fields that they name."""

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

# Entered while own code runs; the process that reads pages notes it, to know whose fault its end is.
CodeMark = Callable[[], AbstractContextManager[None]]
_MANY_ROWS = 2  # a field that more than half of the records lack is missing
_MAX_SAID = 5


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What own code made of a page. `extraction` has the first record; `failure` is there where the code raised."""

    extraction: Extraction
    rows: tuple[dict[str, Any], ...] = ()
    details: tuple[dict[str, Any], ...] = ()
    links: tuple[str, ...] | None = None
    failure: Failed | None = None


@dataclass(slots=True)
class _Collected:
    """Over all records of a page."""

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
    """The records of own code. A record also has the fields of the recipe that the code does not name."""
    try:
        with mark():
            output = call_code(spec, page, memory.compile(spec), max_links)
    except CodeError as error:
        return _fail(error)
    collected = _Collected()
    made = [_complete_row(row, fields, extraction, context, collected) for row in output.rows]
    missing = [
        each.name
        for each in fields
        if not each.optional and _MANY_ROWS * collected.empty.get(each.name, 0) > len(output.rows)
    ]
    if not made:
        missing = [] if output.links else [PARSER_NAME]
    record, details = made[0] if made else ({}, {})
    named = set.intersection(*map(set, output.rows)) if output.rows else set()
    known = {name: problem for name, problem in extraction.problems.items() if name not in named}
    problems = {**known, **collected.problems}
    first = replace(extraction, record=record, missing=tuple(missing), problems=problems, details=details, raw={})
    return CodeResult(first, tuple(row for row, _ in made), tuple(each for _, each in made), output.links)


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
            details |= {spec.name: known} if (known := extraction.details.get(spec.name)) else {}
        if is_nothing(record[spec.name]):
            collected.empty[spec.name] = collected.empty.get(spec.name, 0) + 1
    record |= {name: value for name, value in row.items() if name not in record}
    fitting, cut = cut_record(record)
    collected.problems |= cut
    return fitting, details


def _complete(spec: FieldSpec, value: Any, context: TypeContext) -> FieldValue:
    """Objects and lists of objects are the code's own: their parts are not converted."""
    plain = replace(spec, type=None) if spec.fields else spec
    return complete(plain, RawValue(value, PARSER_NAME), context)


def _note_problems(collected: _Collected, name: str, value: FieldValue) -> None:
    if value.violations:
        collected.problems.setdefault(name, RULE + "; ".join(value.violations[:_MAX_SAID]))
    elif value.problems and is_nothing(value.value):
        collected.problems.setdefault(name, "; ".join(value.problems[:_MAX_SAID]))
