"""The declaration of a step kind: its options, the child run it becomes, and the output of that run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from corral.domain.crawl.item import DiscoveredLink
from corral.domain.jobs.job import Strategy
from corral.domain.runs.payload.stored import TypedPayload
from corral.domain.runs.run import RunState
from corral.domain.workflows.references import references_in
from corral.domain.workflows.spec import MAX_OUTPUT_BYTES

MAX_OUTPUT_RECORDS = 1_000


class StepContext(NamedTuple):
    """The context that a step kind needs in addition to its configuration."""

    workflow_id: str
    key: str
    item: int
    inputs: Mapping[str, Any]  # the outputs of the steps it depends on, by key; `item` in a for_each
    timeout_s: float | None = None
    trusted_hosts: tuple[str, ...] = ()
    # Read from files when the workflow was created: `scrapers` by name, `reconcile`, `cwd`.
    setup: Mapping[str, Any] = {}


class ChildDraft(NamedTuple):
    """A child run to be written."""

    kind: str  # of the run
    payload: TypedPayload
    strategy: Strategy = Strategy.HTTP
    is_retried: bool = True  # False: one attempt, because its items are retried one by one
    seeds: tuple[DiscoveredLink, ...] = ()  # of a crawl


class EndedChild(NamedTuple):
    """A child run that has ended, with its first records."""

    run_id: str
    state: RunState
    stats: Mapping[str, Any]
    records: Sequence[Any]
    record_count: int


class StepOutput(NamedTuple):
    """The output of a step. `flaw` names what a limit left out, which makes the step partial."""

    value: dict[str, Any]
    flaw: str | None = None


MakeChild = Callable[[Mapping[str, Any], StepContext], ChildDraft]
MakeOutput = Callable[[EndedChild], StepOutput]


def reads_all(config: Mapping[str, Any]) -> bool:  # noqa: ARG001 - the signature of `reads_inputs`
    return True


def reads_none(config: Mapping[str, Any]) -> bool:  # noqa: ARG001
    return False


def find_no_problems(config: Mapping[str, Any]) -> list[str]:  # noqa: ARG001 - the signature of a check
    return []


@dataclass(frozen=True, slots=True)
class StepKind:
    name: str
    summary: str
    make_child: MakeChild  # BadInput or ValueError for a configuration that cannot be executed
    make_output: MakeOutput
    required: tuple[str, ...] = ()
    options: tuple[str, ...] | None = ()  # in addition to the required ones; None: any
    check: Callable[[Mapping[str, Any]], list[str]] = field(default=find_no_problems)
    # Whether a step with this configuration receives the outputs of the steps it depends on. If only references read
    # them, large outputs do no harm.
    reads_inputs: Callable[[Mapping[str, Any]], bool] = field(default=reads_none)

    def find_problems(self, config: Mapping[str, Any]) -> list[str]:
        """Return the problems of a configuration that are known before references are resolved."""
        problems = [f"{name!r} is missing in its config" for name in self.required if name not in config]
        if self.options is not None:
            options = {*self.required, *self.options}
            names = ", ".join(sorted(options)) or "none"
            unknown = [name for name in config if name not in options]
            problems += [f"{name[:80]!r} is no option of kind {self.name}; known: {names}" for name in unknown]
        return problems or self.check(config)


def has_reference(value: Any) -> bool:
    return next(references_in(value), None) is not None


def output_value(ended: EndedChild) -> StepOutput:
    """Return the output of a kind whose run writes one record: that record."""
    first = ended.records[0] if ended.records else {}
    value = first if isinstance(first, dict) else {"value": first}
    size = _size_of(value)
    if size > MAX_OUTPUT_BYTES:
        flaw = f"its output has {size:,} bytes, more than {MAX_OUTPUT_BYTES:,}; it is in the records of the run"
        return StepOutput({"run_id": ended.run_id, "is_truncated": True}, flaw)
    return StepOutput(value)


def output_records(ended: EndedChild) -> StepOutput:
    """Return the output of a kind whose run collects records: the first of them, and the run that has all."""
    records = list(ended.records[:MAX_OUTPUT_RECORDS])
    total = ended.record_count
    while records and _size_of(records) > MAX_OUTPUT_BYTES:
        records = records[: len(records) // 2]
    output = {
        "run_id": ended.run_id,
        "status": ended.state.value,
        "record_count": total,
        "record": records[0] if records else None,
        "records": records,
    }
    # The run has all records: the step is not partial, but a reference to all of them is refused.
    return StepOutput(output if len(records) == total else {**output, "is_truncated": True})


def _size_of(value: Any) -> int:
    return len(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS))
