"""`corral queue run` on a project with real scripts."""

import json
import signal
import subprocess
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from corral.domain.jobs.job import Priority
from tests import forked
from tests.cli.command import Corral
from tests.cli.verbs.queue.project import Project, task
from tests.forked.process import start_process
from tests.slack import SLACK
from tests.waiting import block_until


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def corral(project: Project) -> Corral:
    return Corral(project.folder)


def test_every_task_runs_by_band_and_the_summary_has_the_shape_of_the_seed(project: Project, corral: Corral) -> None:
    project.write_queue(
        task(1, "LOW"), task(2, "CRITICAL"), task(3), task(4, "CRITICAL"), task(5, "MEDIUM", "broken_scraper")
    )
    answer = corral("queue", "run", "--max-concurrent", "1")
    assert answer.code == 1, answer.err
    assert project.starts() == ["2", "4", "3", "1"]
    for line in (
        "Total tasks: 5",
        "Completed: 4 (80.0%)",
        "Failed: 1 (20.0%)",
        "  CRITICAL: 2 completed, 0 failed",
        "  games_scraper: 4 completed, 0 failed",
        "  broken_scraper: 0 completed, 1 failed",
    ):
        assert line in answer.out
    assert "[task_000002] CRITICAL games_scraper: started" in answer.err
    assert "[task_000005] ✗ MEDIUM broken_scraper: failed" in answer.err
    assert "API rate limit exceeded" in answer.err


def test_a_task_that_completed_is_not_executed_again_and_a_dead_one_only_if_asked(
    project: Project, corral: Corral
) -> None:
    project.write_queue(task(1), task(2, scraper="broken_scraper"))
    assert corral("queue", "run").code == 1
    [dead] = corral("queue", "dead", "--json").json
    assert (dead["id"], dead["state"], dead["starts"]) == ("task_000002", "dead", 1)
    assert dead["reason"].startswith("bad_response:exit")
    assert dead["history"][0]["attempts"] == 2

    (project.folder / "scripts/etl/broken_scraper.py").write_text("print('fine now')")
    answer = corral("queue", "run", "--json")
    assert answer.code == 1
    assert (answer.json["failed"], answer.json["already_ended"], project.starts()) == (1, 2, ["1"])
    answer = corral("queue", "run", "--retry-dead", "--json")
    assert (answer.code, answer.json["completed"], project.starts()) == (0, 2, ["1"])
    assert corral("queue", "show", "task_000002", "--json").json["starts"] == 2


def test_a_filter_executes_one_band_and_leaves_the_others_ready(project: Project, corral: Corral) -> None:
    project.write_queue(task(1, "LOW"), task(2, "CRITICAL"))
    assert corral("queue", "run", "--priority", "critical").code == 0
    assert project.starts() == ["2"]
    [ready] = corral("queue", "list", "--state", "ready", "--json").json
    assert ready["id"] == "task_000001"


def test_a_dry_run_prints_the_exact_commands_and_executes_nothing(project: Project, corral: Corral) -> None:
    project.write_queue(task(1, "LOW", game_ids=[1, 2]), task(2, "CRITICAL", season="a b"), task(3, scraper="missing"))
    answer = corral("queue", "run", "--dry-run")
    assert answer.code == 0
    script = project.folder / "scripts/etl/games_scraper.py"
    lines = [line for line in answer.out.splitlines() if line.startswith("[")]
    assert lines[0].startswith("[task_000002] CRITICAL")
    assert lines[0].endswith(f"{script} --season 'a b' --game-ids 2")
    assert "scraper_not_found" in lines[1]
    assert lines[2].endswith(f"{script} --season 2024-25 --game-ids 1,2")
    assert not project.starts()
    assert not corral.data.exists()


def test_only_the_tasks_of_the_file_are_executed(project: Project, corral: Corral) -> None:
    project.write_queue(task(1, "CRITICAL"), task(2, "LOW"))
    assert corral("queue", "import").code == 0
    project.write_queue(task(3, "LOW"), name="other.json")
    answer = corral("queue", "run", "--task-queue", "other.json", "--json")
    assert (answer.code, answer.json["total_tasks"], project.starts()) == (0, 1, ["3"])


def test_a_file_that_was_imported_with_another_configuration_is_executed(project: Project, corral: Corral) -> None:
    project.write_queue(task(1), task(2, scraper="gone_scraper"))
    assert corral("queue", "run").code == 1
    project.write_queue(task(1, season="1999-00"), task(2, "CRITICAL", "gone_scraper"), task(3))
    assert corral("queue", "import").code == 0
    (project.folder / "other.yaml").write_text("scrapers: {gone_scraper: scripts/etl/games_scraper.py}")
    plan = corral("queue", "run", "--dry-run", "--json").json
    assert ([each["id"] for each in plan["tasks"]], plan["already_ended"]) == (
        ["task_000001", "task_000003"],
        {"task_000002": "dead"},
    )
    answer = corral("queue", "run", "--scraper-config", "other.yaml", "--retry-dead", "--json")
    assert (answer.code, answer.json["completed"]) == (0, 3)


def test_many_tasks_that_cannot_start_fail_at_once(project: Project, corral: Corral) -> None:
    project.write_queue(*(task(number, scraper="gone_scraper") for number in range(1, 2001)))
    answer = corral("queue", "run", "--json")
    assert (answer.code, answer.json["failed"]) == (1, 2000)
    assert answer.json["duration_seconds"] < 60 * SLACK


def test_tasks_run_in_parallel_within_the_limits_of_the_queue_and_of_each_scraper(
    project: Project, corral: Corral
) -> None:
    project.configure("scrapers:\n  games_scraper: {max_concurrent: 2}\n")
    project.write_queue(*(task(number, seconds=0.3) for number in range(1, 7)))
    assert corral("queue", "run", "--max-concurrent", "5").code == 0
    assert _most_at_once(project) == 2


def test_starts_of_all_scrapers_keep_one_rate_and_no_more_than_it_costs(project: Project, corral: Corral) -> None:
    project.configure("scrapers:\n  other_scraper: {script: scripts/etl/games_scraper.py}\n")
    twice = [{**task(number), "scraper": "other_scraper"} for number in (3, 4)]
    project.write_queue(task(1), task(2), *twice)
    answer = corral("queue", "run", "--json", APP_QUEUE_STARTS_PER_SECOND="5")
    assert (answer.code, answer.json["completed"]) == (0, 4), answer.err
    lines = corral("run", "list", "--json").json
    created = sorted(datetime.fromisoformat(run["created_at"]).timestamp() for run in lines)
    gaps = [later - earlier for earlier, later in pairwise(created)]
    assert min(gaps) >= 0.19


def _most_at_once(project: Project) -> int:
    changes = [(float(line.split()[0]), 1) for line in (project.folder / "starts.txt").read_text().splitlines()]
    changes += [(float(line.split()[0]), -1) for line in (project.folder / "ends.txt").read_text().splitlines()]
    running, most = 0, 0
    for _, change in sorted(changes):
        running += change
        most = max(most, running)
    return most


def test_malformed_entries_are_named_by_index_and_the_rest_is_executed(project: Project, corral: Corral) -> None:
    project.write_queue({"id": "x"}, task(1), "text")
    answer = corral("queue", "run")
    assert answer.code == 3
    assert "entry 0 (x) was left out: scraper" in answer.err
    assert "entry 2 was left out: is not an object" in answer.err
    assert project.starts() == ["1"]


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (("--task-queue", "nowhere.json"), 78, "there is no queue file nowhere.json"),
        (("--task-queue", "broken.json"), 78, "broken.json is no JSON"),
        (("--task-queue", "list.json"), 78, "is not a queue file"),
        (("--scraper-config", "nowhere.yaml"), 78, "there is no scraper configuration nowhere.yaml"),
        (("--scraper-config", "broken.json"), 78, "broken.json: line 1: is no YAML"),
        (("--priority", "urgent"), 2, "urgent"),
        (("--max-concurrent", "0"), 2, "--max-concurrent"),
    ],
)
def test_bad_files_and_arguments(
    project: Project, corral: Corral, arguments: tuple[str, ...], code: int, message: str
) -> None:
    project.write_queue(task(1))
    (project.folder / "broken.json").write_text('{"scrapers": 7, ')
    (project.folder / "list.json").write_text("[]")
    answer = corral("queue", "run", *arguments)
    assert (answer.code, message in answer.err) == (code, True), answer.err
    assert not project.starts()


def test_a_signal_starts_nothing_more_loses_nothing_and_the_same_command_continues(
    project: Project, corral: Corral
) -> None:
    project.write_queue(*(task(number, seconds=1.0) for number in range(1, 5)))
    with corral.start_fork("queue", "run", "--max-concurrent", "1", APP_SHUTDOWN_GRACE_SECONDS="20") as process:
        block_until(lambda: len(project.starts()) >= 1, within_s=60 * SLACK)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60 * SLACK)
    assert process.returncode == 130, err
    assert "no task starts any more" in err
    done = project.ends()
    assert done == project.starts()
    assert len(done) < 4
    assert f"Skipped: {4 - len(done)}" in out
    assert corral("queue", "run").code == 0
    assert sorted(project.starts()) == ["1", "2", "3", "4"]


def test_a_killed_command_loses_nothing_and_doubles_no_task_that_ended(project: Project, corral: Corral) -> None:
    project.write_queue(*(task(number, seconds=0.2) for number in range(1, 9)))
    with (project.folder / "log").open("wb") as log:
        arguments = ["queue", "run", "--max-concurrent", "2"]
        process = start_process(arguments, env=corral.environment({}), cwd=project.folder, stdout=log, stderr=log)
    block_until(lambda: len(project.ends()) >= 2, within_s=60 * SLACK)
    process.kill()
    process.wait(20 * SLACK)
    answer = corral("queue", "run", "--json")
    assert (answer.code, answer.json["completed"]) == (0, 8), answer.err
    assert set(project.ends()) == {str(number) for number in range(1, 9)}
    # Only what ran when the command was killed may have run twice.
    assert len(project.ends()) <= 8 + 2


_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected: {keys: [a]}
    inventory: {folder: {path: nowhere, pattern: "{key}.json"}}
"""


def test_a_source_that_cannot_be_compared_afterwards_shows_in_the_exit_code(project: Project, corral: Corral) -> None:
    project.write_queue(task(1))
    inventory = project.folder / "config/data_inventory.yaml"
    inventory.write_text("sources: [games]")
    answer = corral("queue", "run")
    assert (answer.code, "data_inventory.yaml" in answer.err, project.starts()) == (78, True, [])
    inventory.write_text(_INVENTORY)
    answer = corral("queue", "run", "--json")
    assert (answer.code, answer.json["completed"]) == (3, 1), answer.err
    assert "nowhere" in answer.err
    assert "nowhere" in answer.json["coverage"]["problems"][0]
    project.write_queue(task(2))
    assert corral("queue", "run", "--no-reconciliation").code == 0
    once = corral("loop", "run-once")
    assert (once.code, "sources that could be read" in once.out) == (1, True), once.err


_SCRIPT = """
import json, sys
from corral.queue import ScraperOrchestrator
orchestrator = ScraperOrchestrator(
    task_queue_file="inventory/gaps.json",
    scraper_config_file="config/scraper_config.yaml",
    max_concurrent=2,
    dry_run={dry_run},
)
print(json.dumps(orchestrator.execute_all_tasks({filter})))
"""


def _call(corral: Corral, project: Project, dry_run: bool, priority: str | None) -> dict[str, object]:
    script = _SCRIPT.format(dry_run=dry_run, filter=repr(priority))
    done = subprocess.run(
        [*forked.command("-c"), script],
        cwd=project.folder,
        env=corral.environment({}),
        capture_output=True,
        text=True,
        timeout=60 * SLACK,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_the_python_class_executes_filters_and_plans(project: Project, corral: Corral) -> None:
    project.write_queue(task(1, "LOW"), task(2, "CRITICAL"), task(3, "LOW", "broken_scraper"))
    plan = _call(corral, project, dry_run=True, priority=None)
    assert (plan["total_tasks"], plan["skipped"], project.starts()) == (3, 3, [])
    stats = _call(corral, project, dry_run=False, priority="critical")
    assert (stats["total_tasks"], stats["completed"], stats["failed"]) == (1, 1, 0)
    stats = _call(corral, project, dry_run=False, priority=None)
    assert (stats["total_tasks"], stats["completed"], stats["failed"]) == (3, 2, 1)
    assert stats["by_priority"] == {
        Priority.CRITICAL.name: {"completed": 1, "partial": 0, "failed": 0, "skipped": 0},
        Priority.LOW.name: {"completed": 1, "partial": 0, "failed": 1, "skipped": 0},
    }
    assert project.starts() == ["2", "1"]


def test_tasks_are_imported_listed_cancelled_and_requeued(project: Project, corral: Corral) -> None:
    project.write_queue(task(1), task(2, "LOW"))
    answer = corral.here("queue", "import", "--json")
    assert answer.json["imported"] == 2
    assert corral.here("queue", "import", "--json").json["unchanged"] == 2
    assert corral.here("queue", "import", "--dry-run").code == 0
    assert corral.here("queue", "stats", "--json").json["by_state"]["ready"] == 2
    assert corral.here("queue", "cancel", "task_000002").code == 0
    [cancelled] = corral.here("queue", "list", "--state", "cancelled", "--json").json
    assert cancelled["id"] == "task_000002"
    assert corral.here("queue", "cancel", "task_000002").code == 1
    assert corral.here("queue", "requeue", "task_000002", "--json").json["state"] == "ready"
    assert corral.here("queue", "requeue").code == 2
    assert corral.here("queue", "requeue", "--all", "--json").json == {"requeued": 0}
    assert corral.here("queue", "show", "nothing").code == 1
    names = [each["name"] for each in corral.here("queue", "scrapers", "--json").json]
    assert names == ["broken_scraper", "games_scraper"]
