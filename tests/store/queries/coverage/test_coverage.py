"""Reconciliation in the database: gap tasks, absences by evidence, reports, records as an inventory."""

from typing import Any

from corral.domain.coverage.absence import AbsenceNote, read_absences
from corral.domain.coverage.spec import RecordRows
from corral.domain.coverage.task_plan import GapTask, GapTaskState
from corral.domain.queue.feed import FeedRules
from corral.domain.queue.task import QueueFile, parse_task
from corral.domain.runs.outcome import Fetched
from corral.domain.runs.retry import RetryPolicy
from corral.engine.worker.attempt import settlement_of
from corral.store.store import Store
from tests.store.builders import a_run, add, claim, complete, settle

_HERE = "/project/config.yaml"
_TASK = GapTask("task_1", "games", 2, (("2024-25/0001", "0001"), ("2024-25/0002", "0002")), 1_700_000_000.25)


async def test_the_tasks_of_a_source_are_replaced_as_a_whole(store: Store) -> None:
    other = GapTask("task_2", "players", 1, (("a", "a"),), 1.0)
    await store.coverage.replace_gap_tasks("games", [_TASK])
    await store.coverage.replace_gap_tasks("players", [other])
    assert await store.coverage.gap_tasks("games") == [_TASK]
    await store.coverage.replace_gap_tasks("games", [])
    assert await store.coverage.gap_tasks("games") == []
    assert await store.coverage.gap_tasks("players") == [other]


async def test_the_state_of_a_task_is_that_of_the_queue(store: Store) -> None:
    task = parse_task({"id": "task_1", "priority": "HIGH", "scraper": "s"})
    assert await store.coverage.task_states(["task_1"]) == {"task_1": GapTaskState.UNKNOWN}
    await store.queue.add(QueueFile([task], [], []), _HERE)
    assert await store.coverage.task_states(["task_1"]) == {"task_1": GapTaskState.OPEN}
    await store.queue.feed(_HERE, FeedRules(5), lambda _: "refused", None)
    assert await store.coverage.task_states(["task_1"]) == {"task_1": GapTaskState.ENDED}


async def test_an_absence_is_counted_once_for_each_run(store: Store) -> None:
    notes, malformed = read_absences([{"absent": {"key": "k", "status": 404}}, {"absent": 7}, {"record": {}}], "run-1")
    assert malformed == 1
    assert await store.coverage.note_absences(notes, source="games") == 1
    assert await store.coverage.note_absences(notes, source="games") == 0  # the same run again, after a crash
    assert await store.coverage.note_absences([AbsenceNote("k", {"status": 410}, "run-2")], source="games") == 1
    assert await store.coverage.note_absences([AbsenceNote("k")], source="games") == 1
    [absence] = await store.coverage.absences("games")
    assert (absence.key, absence.confirmations) == ("k", 3)
    assert await store.coverage.absences("players") == []
    await store.coverage.forget_absences("games", ["k"])
    assert await store.coverage.absences("games") == []


async def test_a_script_may_name_a_key_by_the_value_it_was_given(store: Store) -> None:
    await store.coverage.replace_gap_tasks("games", [_TASK])
    notes, _ = read_absences([{"absent": [{"key": "0001", "status": 404}, "2024-25/0002"]}], "run-1")
    assert await store.coverage.note_absences(notes, task_id="task_1") == 2
    found = {absence.key: absence.evidence for absence in await store.coverage.absences("games")}
    assert found == {"2024-25/0001": {"status": 404}, "2024-25/0002": {}}


async def test_what_an_ended_task_reported_outlives_the_task(store: Store) -> None:
    await store.coverage.replace_gap_tasks("games", [_TASK])
    task = parse_task({"id": "task_1", "priority": "HIGH", "scraper": "s"})
    await store.queue.add(QueueFile([task], [], []), _HERE)
    await store.queue.feed(_HERE, FeedRules(5), lambda _: a_run(), None)
    lease = await claim(store)
    outcome = Fetched(stats={"absent": [{"key": "0001", "status": 404}]})
    assert await settle(store, settlement_of(lease, outcome, RetryPolicy(), now=lease.run.created_at, took_s=0.1))
    # A reconciliation that read the absences before that end plans the next task.
    await store.coverage.replace_gap_tasks("games", [])
    assert [absence.key for absence in await store.coverage.absences("games")] == ["2024-25/0001"]


async def test_reports_are_kept_by_run_and_the_latest_is_found(store: Store) -> None:
    assert await store.coverage.report() is None
    await store.coverage.add_report({"tasks": 1}, "run-1")
    await store.coverage.add_report({"tasks": 2}, None)
    latest, of_run = await store.coverage.report(), await store.coverage.report("run-1")
    assert latest is not None
    assert of_run is not None
    assert (latest.run_id, latest.document) == (None, {"tasks": 2})
    assert of_run.document == {"tasks": 1}


async def test_records_are_an_inventory(store: Store) -> None:
    run_id = await add(store, a_run("job-1"))
    lease = await claim(store)
    whole, season = {"id": 7, "game": {"season": "2024-25"}}, {"season": "x"}
    records: list[dict[str, Any]] = [whole, {"id": 8}, {"id": None, "game": season}]
    assert await settle(store, complete(lease, records))
    fields = {"game_id": "id", "season": "game.season"}
    for wanted in (RecordRows(fields, job_id="job-1"), RecordRows(fields, run_id=run_id)):
        page = await store.coverage.record_page(wanted, "")
        assert [entry.values for entry in page.entries] == [(7, "2024-25")]
        assert (page.skipped, page.next_after) == (2, None)
        assert page.entries[0].modified is not None
