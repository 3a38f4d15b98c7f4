"""References, conditions, progress and the words of the workflow API."""

from typing import Any

import pytest

from corral.domain.runs.run import HoldReason, RunState
from corral.domain.workflows.condition import check_condition, holds
from corral.domain.workflows.graph import ALONE, ItemEnd, advance, end_state, gather
from corral.domain.workflows.inputs import StepResult
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
from corral.domain.workflows.states import BY_CONDITION, StepNow, StepState, task_status, workflow_status
from tests.domain.workflows.builders import a_definition, a_diamond, a_step, call

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
    spec = parse_workflow(a_definition(a_step("a"), call("b", "a")))
    states = now_of(a="completed", b="waiting")
    [end] = advance(spec, states, lambda _: StepResult("completed", {"x": "y" * 5_000_000})).ends
    assert (end.state, "more than 4,194,304" in str(end.reason)) == (StepState.FAILED, True)
    large = output_value(EndedChild("run", RunState.COMPLETED, {}, [{"x": "y" * 2_000_000}], 1))
    assert large.flaw is not None
    assert large.value["is_truncated"]


def test_a_step_that_receives_no_inputs_may_follow_large_outputs() -> None:
    config = {"run_id": "${steps.a.output.run_id}", "output": "all.csv"}
    export = {"key": "b", "kind": "export", "depends_on": ["a"], "config": config}
    spec = parse_workflow(a_definition(a_step("a"), export))
    large = StepResult("completed", {"run_id": "r", "records": ["y" * 5_000_000]})
    [child] = advance(spec, now_of(a="completed", b="waiting"), lambda _: large).children
    assert (child.config["run_id"], child.inputs) == ("r", {})


def test_a_function_never_gets_some_records_for_all() -> None:
    spec = parse_workflow(a_definition(a_step("a"), call("b", "a")))
    cut = StepResult("completed", {"run_id": "r", "record_count": 5000, "records": [1], "is_truncated": True})
    [child] = advance(spec, now_of(a="completed", b="waiting"), lambda _: cut).children
    assert child.inputs == {"a": {"run_id": "r", "record_count": 5000, "is_truncated": True}}


def test_children_of_a_fan_out_do_not_each_get_the_whole_list() -> None:
    spec = parse_workflow(a_definition(a_step("a"), call("b", "a", for_each="${steps.a.output.found.urls[*].url}")))
    found = {"found": {"urls": [{"url": "u"}, {"url": "v"}], "page": 1}, "token": "t"}
    states = now_of(a="completed", b="waiting")
    children = advance(spec, states, lambda _: StepResult("completed", found)).children
    assert [child.inputs for child in children] == [
        {"a": {"found": {"page": 1}, "token": "t"}, "item": url} for url in ("u", "v")
    ]
    many = {"found": {"urls": [{"url": n} for n in range(1000)]}, "token": "t" * 100_000}
    [end] = advance(spec, states, lambda _: StepResult("completed", many)).ends
    assert "1000 children with 100,0" in str(end.reason)


def test_a_fan_out_over_what_a_skipped_step_would_have_found_has_no_children() -> None:
    spec = parse_workflow(a_definition(a_step("a"), a_step("b", "a", for_each="${steps.a.output.urls}")))
    states = {"a": StepNow(StepState.SKIPPED, BY_CONDITION), "b": StepNow(StepState.WAITING)}
    [end] = advance(spec, states, lambda _: StepResult("skipped")).ends
    assert (end.state, end.output and end.output["total"]) == (StepState.COMPLETED, 0)


def test_large_outputs_of_items_are_left_out_and_never_taken_for_nothing() -> None:
    [step] = parse_workflow(a_definition(a_step("a"))).steps
    ends = [
        ItemEnd(StepState.COMPLETED, {"run_id": f"r{n}", "record_count": 9, "records": ["y" * 700_000]}, run_id=f"r{n}")
        for n in range(8)
    ]
    gathered = gather(step, [*ends, ItemEnd(StepState.COMPLETED, {"value": 1}, run_id="r8")])
    assert gathered.output is not None
    assert gathered.output["items"][0] == {"run_id": "r0", "record_count": 9, "is_truncated": True}

    def look(text: str) -> Any:
        reference = parse_reference(text)
        return follow_path(gathered.output, reference.path[2:], reference)

    assert look("steps.a.output.items[*].run_id") == [f"r{n}" for n in range(9)]
    with pytest.raises(UnresolvedReference, match="too large to be passed on"):
        look("steps.a.output.items[*].records")


def test_text_that_looks_like_a_reference_is_passed_on_as_it_is() -> None:
    spec = parse_workflow(a_definition(a_step("a"), a_step("b", "a", config={"do": "<${steps.a.output.text}>"})))
    odd = StepResult("completed", {"text": "${steps.a.output.secret} ${item} 下载"})
    [child] = advance(spec, now_of(a="completed", b="waiting"), lambda _: odd).children
    assert child.config["do"] == "<${steps.a.output.secret} ${item} 下载>"


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
    def name_status(
        state: RunState, hold: HoldReason | None = None, *, is_begun: bool = True, recoveries: int = 0
    ) -> str:
        return workflow_status(state, hold, is_begun=is_begun, recoveries=recoveries).value

    assert name_status(RunState.HELD, HoldReason.PAUSED, is_begun=False) == "pending"
    assert name_status(RunState.HELD, HoldReason.PAUSED) == "paused"
    assert name_status(RunState.RUNNING) == "running"
    assert name_status(RunState.RUNNING, recoveries=1) == "recovering"
    assert name_status(RunState.PARTIAL) == "completed"
    assert task_status(StepState.STARTED, RunState.QUEUED, 1) == "queued"
    assert task_status(StepState.STARTED, RunState.QUEUED, 2) == "retrying"
    assert task_status(StepState.STARTED, RunState.RUNNING, 2) == "running"
    assert task_status(StepState.WAITING, None, 0) == "pending"
