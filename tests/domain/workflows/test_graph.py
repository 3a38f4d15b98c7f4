"""References, conditions, progress and the words of the workflow API."""

from typing import Any

import pytest

from corral.domain.runs.run import HoldReason, RunState
from corral.domain.workflows.condition import check_condition, holds
from corral.domain.workflows.graph import ALONE, StepResult, advance, end_state
from corral.domain.workflows.kinds.spec import EndedChild, output_records, output_value
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.progress import progress_percent, share_of
from corral.domain.workflows.references import (
    Reference,
    UnresolvedReference,
    follow_path,
    parse_reference,
    resolve_value,
)
from corral.domain.workflows.states import StepNow, StepState, task_status, workflow_status
from tests.domain.workflows.builders import a_definition, a_diamond, a_step

OUTPUT = {"urls": ["u", "v"], "count": 2, "deep": [{"t": 1}, {"t": 2}]}


def look_up(reference: Reference) -> Any:
    return follow_path(OUTPUT, reference.path[2:], reference)


@pytest.mark.parametrize(
    "text, value",
    [
        ("${steps.a.output.urls}", ["u", "v"]),
        ("${steps.a.output.urls[1]}", "v"),
        ("${steps.a.output.deep[*].t}", [1, 2]),
        ("n = ${steps.a.output.count}; ${steps.a.output.urls}", 'n = 2; ["u","v"]'),
        ({"x": ["${steps.a.output.count}"]}, {"x": [2]}),
        ("plain $ text", "plain $ text"),
    ],
)
def test_a_reference_becomes_its_value(text: Any, value: Any) -> None:
    assert resolve_value(text, look_up) == value


@pytest.mark.parametrize("text", ["${}", "${steps}", "${steps.a}", "${steps.a.result}", "${[1]}", "${a b}"])
def test_a_bad_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"reference|begins|names no part"):
        parse_reference(text[2:-1])


@pytest.mark.parametrize(
    "text", ["${steps.a.output.nothing}", "${steps.a.output.urls[2]}", "${steps.a.output.count.x}"]
)
def test_a_reference_to_nothing_says_what_is_there(text: str) -> None:
    with pytest.raises(UnresolvedReference, match="leads to nothing"):
        resolve_value(text, look_up)


@pytest.mark.parametrize(
    "text, is_true",
    [
        ("${steps.a.output.count} > 1", True),
        ("${steps.a.output.count} <= 1", False),
        ("not ${steps.a.output.count} == 2", False),
        ("${steps.a.output.urls}", True),
        ("${steps.a.output.urls[0]} == 'u'", True),
        ('${steps.a.output.urls[0]} != "u"', False),
        ("true", True),
        ("not null", True),
    ],
)
def test_conditions(text: str, is_true: bool) -> None:
    check_condition(text)
    assert holds(text, look_up) is is_true


def test_operands_that_cannot_be_compared_are_an_error() -> None:
    with pytest.raises(ValueError, match="compares"):
        holds("${steps.a.output.urls} > 1", look_up)


def now_of(**states: str) -> dict[str, StepNow]:
    return {key: StepNow(StepState(state)) for key, state in states.items()}


def test_ready_steps_start_together_and_a_failure_skips_what_follows() -> None:
    spec = parse_workflow(a_diamond())
    states = now_of(a="completed", b="waiting", c="failed", d="waiting", e="waiting", f="waiting")
    found = advance(spec, states, lambda _: StepResult("completed", {}))
    assert [(child.key, child.item) for child in found.children] == [("b", ALONE)]
    assert [(end.key, end.state) for end in found.ends] == [("e", StepState.SKIPPED)]
    assert found.end is None


def test_inputs_and_outputs_are_bounded() -> None:
    spec = parse_workflow(a_definition(a_step("a"), a_step("b", "a")))
    states = now_of(a="completed", b="waiting")
    [end] = advance(spec, states, lambda _: StepResult("completed", {"x": "y" * 5_000_000})).ends
    assert (end.state, "more than 4,194,304" in str(end.reason)) == (StepState.FAILED, True)
    large = output_value(EndedChild("run", RunState.COMPLETED, {}, [{"x": "y" * 2_000_000}], 1))
    assert large.flaw is not None
    assert large.value["is_truncated"]


def test_some_of_many_records_are_never_taken_for_all() -> None:
    made = output_records(EndedChild("run", RunState.COMPLETED, {}, [{"n": n} for n in range(1000)], 5000))
    assert (made.flaw, made.value["record_count"], len(made.value["records"])) == (None, 5000, 1000)
    spec = parse_workflow(a_definition(a_step("a"), a_step("b", "a", for_each="${steps.a.output.records}")))
    states = now_of(a="completed", b="waiting")
    [end] = advance(spec, states, lambda _: StepResult("completed", made.value)).ends
    assert "only the first of 5000 records" in str(end.reason)


def test_a_fan_out_has_a_limit() -> None:
    spec = parse_workflow(a_definition(a_step("a"), a_step("b", "a", for_each="${steps.a.output.n}")))
    states = now_of(a="completed", b="waiting")
    cases: list[tuple[Any, str]] = [(list(range(1001)), "at most 1000"), ("text", "needs a list")]
    for value, told in cases:
        result = StepResult("completed", {"n": value})
        [end] = advance(spec, states, {"a": result}.__getitem__).ends
        assert told in str(end.reason)


@pytest.mark.parametrize(
    "states, end",
    [
        ("completed skipped", RunState.COMPLETED),
        ("completed partial", RunState.PARTIAL),
        ("partial failed", RunState.FAILED),
        ("completed cancelled", RunState.FAILED),
        ("completed started", None),
        ("completed waiting", None),
    ],
)
def test_the_end_of_a_workflow_follows_from_its_steps(states: str, end: RunState | None) -> None:
    assert end_state(StepNow(StepState(state)) for state in states.split()) is end


def test_progress_counts_what_succeeded_and_rounds_down() -> None:
    done, failed = StepNow(StepState.COMPLETED), StepNow(StepState.FAILED)
    assert progress_percent([share_of(done), share_of(failed), share_of(StepNow(StepState.STARTED), (1, 2))]) == 50
    assert progress_percent([share_of(done), share_of(StepNow(StepState.STARTED), (5, 5))]) == 99
    assert progress_percent([]) == 0


def test_the_words_of_the_workflow_api() -> None:
    def told(state: RunState, hold: HoldReason | None = None, *, is_begun: bool = True, recoveries: int = 0) -> str:
        return workflow_status(state, hold, is_begun=is_begun, recoveries=recoveries).value

    assert told(RunState.HELD, HoldReason.PAUSED, is_begun=False) == "pending"
    assert told(RunState.HELD, HoldReason.PAUSED) == "paused"
    assert told(RunState.RUNNING) == "running"
    assert told(RunState.RUNNING, recoveries=1) == "recovering"
    assert told(RunState.PARTIAL) == "completed"
    assert task_status(StepState.STARTED, RunState.QUEUED, 1) == "queued"
    assert task_status(StepState.STARTED, RunState.QUEUED, 2) == "retrying"
    assert task_status(StepState.STARTED, RunState.RUNNING, 2) == "running"
    assert task_status(StepState.WAITING, None, 0) == "pending"
