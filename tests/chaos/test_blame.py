"""Who is blamed for a dead worker, as a person sees it: over HTTP, with real processes."""

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.chaos.level import by_level
from tests.slack import SLACK
from tests.stack import Stack, corral_up
from tests.waiting import pauses


def kill_executing(stack: Stack, run_id: str, which: signal.Signals) -> None:
    """Signal every worker while this run is being executed, and wait until that is on record."""
    stack.until(run_id, "running")
    time.sleep(0.5)  # a run that has just been claimed is on its way to the worker
    losses = count_losses(stack, run_id)
    for child in psutil.Process(stack.process.pid).children():
        if "corral.entrypoints.worker_process" in child.cmdline():
            child.send_signal(which)
    deadline = time.monotonic() + 20 * SLACK
    looks = pauses()
    while count_losses(stack, run_id) == losses:
        assert time.monotonic() < deadline, "nothing was lost"
        time.sleep(next(looks))


def count_losses(stack: Stack, run_id: str) -> int:
    return sum(message in {"Worker lost", "Run interrupted", "Run quarantined"} for message in stack.messages(run_id))


def test_a_run_that_crashes_its_worker_three_times_is_held_with_the_evidence_and_can_be_resumed(
    tmp_path: Path, site: str
) -> None:
    with corral_up(tmp_path, site) as stack:
        run_id = stack.start(stack.job("/slow?seconds=3", timeout_s=60))["id"]
        for _ in range(3):
            kill_executing(stack, run_id, signal.SIGSEGV)
        run = stack.until(run_id, "waiting_for_human")
        assert (run["failure_code"], run["failure_detail"], run["attempt"]) == ("worker_lost", "poison", 1)
        assert "SIGSEGV" in run["error_message"]
        events = stack.client.get(f"/jobs/runs/{run_id}/events?limit=1000").json()
        [quarantined] = [event for event in events if event["message"] == "Run quarantined"]
        assert quarantined["meta"]["exit"] == "killed by SIGSEGV"
        [waiting] = stack.client.get("/interventions").json()
        assert (waiting["run_id"], waiting["kind"]) == (run_id, "quarantine")
        # What else is there goes on meanwhile.
        assert stack.wait_for_end(stack.start(stack.job())["id"])["status"] == "completed"

        assert stack.client.post(f"/jobs/runs/{run_id}/resume").status_code == 200
        assert stack.wait_for_end(run_id)["status"] == "completed"
        assert stack.client.get("/interventions?status=open").json() == []


def test_a_run_whose_installation_is_killed_again_and_again_completes(tmp_path: Path, site: str) -> None:
    run_id = ""
    for number in range(4):
        with corral_up(tmp_path, site) as stack:
            if not run_id:
                run_id = stack.start(stack.job("/slow?seconds=2", timeout_s=60))["id"]
            if number < 3:
                stack.until(run_id, "running")
                os.kill(stack.process.pid, signal.SIGKILL)
                stack.process.wait(10)
                continue
            run = stack.wait_for_end(run_id)
            assert (run["status"], run["attempt"]) == ("completed", 1)
            messages = stack.messages(run_id)
            assert messages.count("Run interrupted") == 3
            assert "Worker lost" not in messages


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGTERM][: by_level(1, 2)])
def test_a_worker_that_is_killed_from_outside_says_nothing_about_its_run(
    tmp_path: Path, site: str, which: signal.Signals
) -> None:
    with corral_up(tmp_path, site) as stack:
        run_id = stack.start(stack.job("/slow?seconds=3", timeout_s=60))["id"]
        for _ in range(4):
            kill_executing(stack, run_id, which)
        assert stack.wait_for_end(run_id)["status"] == "completed"
        assert "Worker lost" not in stack.messages(run_id)
