"""Decide which steps start, are skipped or have ended, and how the workflow ends. Pure: the store writes the result."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from corral.domain.runs.run import RunState
from corral.domain.workflows.checks import find_ancestors
from corral.domain.workflows.condition import holds
from corral.domain.workflows.inputs import ReadResult, StepResult, drop_list, read_inputs, size_of
from corral.domain.workflows.references import (
    INDEX,
    ITEM,
    Lookup,
    Reference,
    UnresolvedReference,
    follow_path,
    parse_reference,
    resolve_value,
)
from corral.domain.workflows.spec import MAX_FAN_OUT_BYTES, MAX_INPUT_BYTES, MAX_ITEMS, StepSpec, WorkflowSpec
from corral.domain.workflows.states import BY_CONDITION, RECOVERABLE, StepNow, StepState

ALONE = -1  # the item number of a step without for_each, and of the step itself if it has one


class StepChild(NamedTuple):
    """A child run to create: the configuration with all references resolved, and the inputs."""

    key: str
    item: int
    config: dict[str, Any]
    inputs: dict[str, Any]


class StepEnd(NamedTuple):
    """The end of a step that is known without a child run, or from all of its children."""

    key: str
    state: StepState
    reason: str | None = None
    output: dict[str, Any] | None = None


@dataclass(slots=True)
class Progression:
    """The changes that follow from the states of the steps."""

    children: list[StepChild] = field(default_factory=list)
    ends: list[StepEnd] = field(default_factory=list)
    end: RunState | None = None  # of the workflow


def advance(spec: WorkflowSpec, now: Mapping[str, StepNow], read: ReadResult) -> Progression:
    """Start every step whose dependencies allow it, and skip steps that can never start; `read` returns results.

    A step that ends at once (skipped, failed because of its configuration, a for_each over nothing) may release
    others, so this is repeated until nothing changes.
    """
    states = dict(now)
    ended: dict[str, StepEnd] = {}
    result = Progression()

    def read_result(key: str) -> StepResult:
        end = ended.get(key)
        return read(key) if end is None else StepResult(end.state.value, end.output)

    while ready := [step for step in spec.steps if _is_decidable(step, states)]:
        for step in ready:
            outcome = _decide_step(step, states, read_result)
            if isinstance(outcome, StepEnd):
                ended[step.key] = outcome
                result.ends.append(outcome)
                states[step.key] = StepNow(outcome.state, outcome.reason)
            else:
                result.children += outcome
                states[step.key] = StepNow(StepState.STARTED)
    result.end = end_state(states.values())
    return result


def _is_decidable(step: StepSpec, states: Mapping[str, StepNow]) -> bool:
    if states[step.key].state is not StepState.WAITING:
        return False
    needs = [states[key] for key in step.depends_on]
    return all(each.state.is_over for each in needs)


def _decide_step(step: StepSpec, states: Mapping[str, StepNow], read: ReadResult) -> StepEnd | list[StepChild]:
    blocked = [key for key in step.depends_on if not states[key].lets_pass]
    if blocked:
        dependencies = ", ".join(f"{key} ({states[key].state.value})" for key in blocked)
        return StepEnd(step.key, StepState.SKIPPED, f"it depends on {dependencies}")
    lookup = _Lookup(read)
    try:
        if step.when is not None and not holds(step.when, lookup):
            return StepEnd(step.key, StepState.SKIPPED, BY_CONDITION)
        inputs = read_inputs(step, read)
        if step.for_each is None:
            return [StepChild(step.key, ALONE, resolve_value(step.config, lookup), inputs)]
        return _fan_out(step, _list_items(step.for_each, lookup, read), read, inputs)
    except ValueError as error:
        return StepEnd(step.key, StepState.FAILED, str(error))


def _list_items(for_each: str, lookup: Lookup, read: ReadResult) -> list[Any]:
    """Return the values of a for_each; none if the step that would provide them was skipped by its condition."""
    items = resolve_value(for_each, lookup)
    if isinstance(items, list):
        return items
    source = parse_reference(for_each[2:-1]).step
    if items is None and source is not None and read(source).status == StepState.SKIPPED.value:
        return []
    raise UnresolvedReference(f"for_each needs a list; {for_each} is none")


def _fan_out(step: StepSpec, items: list[Any], read: ReadResult, inputs: dict[str, Any]) -> StepEnd | list[StepChild]:
    if len(items) > MAX_ITEMS:
        raise UnresolvedReference(
            f"for_each over {len(items)} values; at most {MAX_ITEMS} are allowed: use a crawl or the items of a run"
        )
    if not items:
        return StepEnd(step.key, StepState.COMPLETED, output=gather_outputs([]))
    shared = drop_list(step, inputs)
    if len(items) * size_of(shared) > MAX_FAN_OUT_BYTES:
        raise ValueError(
            f"{len(items)} children with {size_of(shared):,} bytes of inputs each are more than {MAX_FAN_OUT_BYTES:,};"
            " let the outputs be records or files, and pass the run or the path on"
        )
    return [
        StepChild(step.key, number, resolve_value(step.config, _Lookup(read, (item, number))), {**shared, ITEM: item})
        for number, item in enumerate(items)
    ]


class _Lookup:
    """Finds what a reference names among the results of steps, and the item of a for_each."""

    def __init__(self, read: ReadResult, item: tuple[Any, int] | None = None) -> None:
        self._read = read
        self._item = item

    def __call__(self, reference: Reference) -> Any:
        if reference.root in (ITEM, INDEX):
            if self._item is None:
                raise UnresolvedReference(f"${{{reference.text}}} needs for_each")
            value = self._item[0 if reference.root == ITEM else 1]
            return follow_path(value, reference.path, reference)
        if reference.step is None:
            raise UnresolvedReference(f"${{{reference.text}}} names no step")
        result = self._read(reference.step)
        part = reference.path[1]
        if part != "output":
            return result.status if part == "status" else result.run_id
        # A step that its condition skipped has no output: a reference to any part of it is null.
        if result.output is None:
            return None
        _check_whole(result.output, reference)
        return follow_path(result.output, reference.path[2:], reference)


def _check_whole(output: Any, reference: Reference) -> None:
    """Refuse a reference to all records of an output that holds only the first ones."""
    path = reference.path[2:]
    asks_all = path[:1] == ("records",) and path[1:2] in ((), ("*",))
    if asks_all and isinstance(output, Mapping) and output.get("is_truncated"):
        raise UnresolvedReference(
            f"${{{reference.text}}} has only the first of {output.get('record_count')} records;"
            " read them from the run (run_id) instead"
        )


class ItemEnd(NamedTuple):
    """The end of one child of a for_each."""

    state: StepState
    output: Any
    reason: str | None = None
    run_id: str | None = None


def gather(step: StepSpec, items: Iterable[ItemEnd]) -> StepEnd:
    """Return the end of a for_each whose children have all ended."""
    ends = list(items)
    output = gather_outputs(ends)
    bad = [number for number, each in enumerate(ends) if each.state not in (StepState.COMPLETED, StepState.PARTIAL)]
    if bad:
        first = ends[bad[0]]
        reason = f"{len(bad)} of {len(ends)} items failed; item {bad[0]}: {first.reason or first.state.value}"
        is_partial = step.allow_failures and len(bad) < len(ends)
        return StepEnd(step.key, StepState.PARTIAL if is_partial else StepState.FAILED, reason, output)
    partial = sum(each.state is StepState.PARTIAL for each in ends)
    if partial:
        return StepEnd(step.key, StepState.PARTIAL, f"{partial} of {len(ends)} items are partial", output)
    return StepEnd(step.key, StepState.COMPLETED, output=output)


def gather_outputs(ends: list[ItemEnd]) -> dict[str, Any]:
    succeeded = sum(each.state in (StepState.COMPLETED, StepState.PARTIAL) for each in ends)
    outputs = [each.output for each in ends]
    is_large = size_of(outputs) > MAX_INPUT_BYTES
    return {
        "items": [_shorten(each) for each in ends] if is_large else outputs,
        "total": len(ends),
        "completed": succeeded,
        "failed": len(ends) - succeeded,
    }


# What remains of the output of each item if all of them together are too large.
_SHORT = ("run_id", "status", "record_count", "path")


def _shorten(end: ItemEnd) -> dict[str, Any] | None:
    """Return the output without what its run stores anyway. A reference to a part that is left out is refused."""
    if end.output is None:
        return None
    summary = {name: end.output[name] for name in _SHORT if name in end.output}
    return {"run_id": end.run_id, **summary, "is_truncated": True}


def end_state(states: Iterable[StepNow]) -> RunState | None:
    """Return how the workflow ends; None while a step is open. A partial step makes the workflow partial."""
    present = {each.state for each in states}
    if present & {StepState.WAITING, StepState.STARTED}:
        return None
    if present & {StepState.FAILED, StepState.CANCELLED}:
        return RunState.FAILED
    return RunState.PARTIAL if StepState.PARTIAL in present else RunState.COMPLETED


class NothingToRecover(ValueError):
    """No step can be executed again, with the reason."""


def choose_recovery(spec: WorkflowSpec, now: Mapping[str, StepNow], from_step: str | None) -> list[str]:
    """Return the steps that a recovery executes again, in order: those without success, from `from_step` on."""
    again = [step.key for step in spec.steps if now[step.key].state in RECOVERABLE and not (now[step.key].lets_pass)]
    if from_step is None:
        if not again:
            raise NothingToRecover("every step has succeeded")
        return again
    if from_step not in spec.by_key:
        raise NothingToRecover(f"there is no step {from_step!r}; the steps are {', '.join(spec.by_key)}")
    ancestors = find_ancestors(spec.steps)
    chosen = [key for key in again if key == from_step or from_step in ancestors[key]]
    if not chosen:
        raise NothingToRecover(f"step {from_step!r} and every step after it have succeeded")
    blocked = [key for key in ancestors[from_step] if key in again]
    if blocked:
        raise NothingToRecover(f"step {from_step!r} depends on {', '.join(sorted(blocked))}: recover from there")
    return chosen
