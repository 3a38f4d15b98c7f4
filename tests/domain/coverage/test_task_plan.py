"""Tasks for gaps: batches, stable ids, no key in two tasks, a bounded number of attempts."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.coverage.absence import Absence
from corral.domain.coverage.gap import Entry, RankedGap
from corral.domain.coverage.report import SourceResult, make_queue_document
from corral.domain.coverage.spec import SourceSpec
from corral.domain.coverage.task_plan import GapTask, GapTaskState, Planner, TaskHistory, TaskPlan
from corral.domain.queue.task import parse_queue_file
from tests.domain.coverage.builders import NOW, compare, list_expected, rank, source_of

_OPEN, _ENDED = GapTaskState.OPEN, GapTaskState.ENDED


def _gaps(source: SourceSpec, missing: Sequence[int]) -> list[RankedGap]:
    values = list_expected(source)
    present = [Entry(each, 1) for number, each in enumerate(values) if number not in missing]
    return rank(source, compare(source, present))


def _plan(
    source: SourceSpec,
    missing: Sequence[int],
    tasks: Sequence[GapTask] = (),
    state: GapTaskState | None = None,
    *,
    now: float = NOW.timestamp(),
    absences: Sequence[Absence] = (),
) -> TaskPlan:
    states = {} if state is None else {task.id: state for task in tasks}
    history = TaskHistory(tasks, states, {each.key: each for each in absences})
    return Planner(source, history, now).plan(_gaps(source, missing))


def test_a_task_is_what_the_queue_file_of_the_contract_has() -> None:
    source = source_of()
    plan = _plan(source, [0, 1, 40])
    document = make_queue_document([SourceResult("box_scores", None, plan)], "2026-11-16T12:00:00Z")
    parsed = parse_queue_file(document, "here")
    assert not parsed.malformed
    assert not parsed.notes
    assert document["total_tasks"] == 2
    assert document["by_priority"] == {"CRITICAL": 0, "HIGH": 1, "MEDIUM": 1, "LOW": 0}
    first, second = document["tasks"]
    assert first.pop("id").startswith("task_")
    assert first == {
        "priority": "HIGH",
        "source": "box_scores",
        "scraper": "nba_api_scraper",
        "season": "2026-27",
        "game_ids": ["0001"],
        "data_type": "box_scores",
        "gap_type": "missing",
        "reason": "2026-27/0001 missing (not there), of the current season",
        "estimated_time_minutes": 5,
    }
    assert (second["season"], second["game_ids"]) == ("2024-25", ["0001", "0002"])


def test_numbers_stay_numbers_and_a_task_of_one_key_names_its_dimensions() -> None:
    source = source_of(
        expected={"dimensions": {"game_id": {"range": {"from": 401579404, "to": 401579405}}}},
        inventory={"folder": {"path": "d", "pattern": "{game_id}.json"}},
        batch=1,
    )
    documents = [document for _, document in _plan(source, [0, 1]).tasks]
    assert [each["game_id"] for each in documents] == [401579404, 401579405]


def test_batches_are_full_and_share_everything_but_the_batched_dimension() -> None:
    plan = _plan(source_of(), range(60))
    sizes = [len(document["game_ids"]) for _, document in plan.tasks]
    assert sizes == [5] * 12
    assert [document["priority"] for _, document in plan.tasks] == ["HIGH"] * 4 + ["MEDIUM"] * 8


def test_a_batch_fits_into_one_argument_of_a_script() -> None:
    source = source_of(
        expected={"keys": ["x" * 1000 + str(number) for number in range(100)]},
        inventory={"folder": {"path": "d", "pattern": "{key}"}},
        batch=100,
    )
    documents = [document for _, document in _plan(source, range(100)).tasks]
    assert sum(len(document["keys"]) for document in documents) == 100
    assert max(len(",".join(document["keys"])) for document in documents) < 64 * 1024


@given(missing=st.sets(st.integers(0, 59), min_size=1))
def test_every_gap_is_in_one_task_and_planning_again_changes_nothing(missing: set[int]) -> None:
    source = source_of()
    plan = _plan(source, sorted(missing))
    keys = [key for task, _ in plan.tasks for key, _ in task.keys]
    assert len(keys) == len(set(keys)) == len(missing)
    again = _plan(source, sorted(missing), plan.remembered)
    assert again.tasks == plan.tasks
    assert [task.id for task, _ in _plan(source, sorted(missing)).tasks] == [task.id for task, _ in plan.tasks]


def test_a_gap_with_an_open_task_gets_no_second_one_also_when_its_neighbours_change() -> None:
    source = source_of()
    before = _plan(source, [0, 1, 2]).remembered
    plan = _plan(source, [1, 2, 3], before, _OPEN)
    assert plan.waiting == 2
    assert [document["game_ids"] for _, document in plan.tasks] == [["0004"]]
    assert {task.id for task in before} < {task.id for task in plan.remembered}


def test_a_task_that_is_not_in_the_queue_is_written_again_without_the_closed_gaps() -> None:
    source = source_of()
    [before] = _plan(source, [0, 1, 2]).remembered
    [(task, document)] = _plan(source, [1, 2], [before]).tasks
    assert task.id == before.id
    assert document["game_ids"] == ["0002", "0003"]


def test_a_gap_that_its_task_did_not_close_is_tried_a_bounded_number_of_times_and_then_reported() -> None:
    source = source_of(attempts=3)
    tasks = _plan(source, [0, 1]).remembered
    seen = {task.id for task in tasks}
    for attempt in (2, 3):
        plan = _plan(source, [0, 1], tasks, _ENDED)
        tasks = plan.remembered
        assert [task.attempt for task in tasks] == [attempt]
        assert not seen & {task.id for task in tasks}
        seen |= {task.id for task in tasks}
    plan = _plan(source, [1], tasks, _ENDED)
    assert plan.tasks == []
    assert [each.gap.key for each in plan.stuck] == ["2024-25/0002"]
    assert [key for task in plan.remembered for key, _ in task.keys] == ["2024-25/0002"]
    assert _plan(source, [1], plan.remembered, _ENDED).stuck == plan.stuck
    later = NOW.timestamp() + 91 * 86_400
    assert [task.attempt for task, _ in _plan(source, [1], plan.remembered, _ENDED, now=later).tasks] == [1]


def test_a_key_that_was_reported_as_absent_is_requested_until_that_is_confirmed() -> None:
    source = source_of(attempts=1, absence={"confirmations": 2})
    tasks = _plan(source, [0, 1]).remembered
    absence = Absence("2024-25/0001", 1, NOW.timestamp())
    plan = _plan(source, [0, 1], tasks, _ENDED, absences=[absence])
    assert [document["game_ids"] for _, document in plan.tasks] == [["0001"]]
    assert [each.gap.key for each in plan.stuck] == ["2024-25/0002"]


def test_a_gap_that_opens_again_gets_a_task_that_the_queue_has_not_seen() -> None:
    source = source_of()
    [(first, _)] = _plan(source, [0]).tasks
    history = TaskHistory((), {first.id: _ENDED})
    [(second, _)] = Planner(source, history, NOW.timestamp()).plan(_gaps(source, [0])).tasks
    assert second.id != first.id
    assert second.attempt == 1


@pytest.mark.parametrize("missing", [[], [0]])
def test_closed_gaps_are_forgotten(missing: list[int]) -> None:
    source = source_of(batch=1)
    before = _plan(source, [0, 1]).remembered
    plan = _plan(source, missing, before, _OPEN)
    assert len(plan.remembered) == len(missing)
