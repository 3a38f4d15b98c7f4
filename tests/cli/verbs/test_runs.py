"""Jobs, runs, events and records from the command line, beside a worker on the same data folder."""

import json
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.cli.command import Corral, line_with
from tests.slack import SLACK

Started = Callable[..., subprocess.Popen[str]]
UNKNOWN = "01a1de72-ef57-70cc-9efc-dbcdc746657c"


@pytest.fixture(autouse=True)
def _site_is_allowed(site: str, monkeypatch: pytest.MonkeyPatch, shared: Corral) -> None:
    allowed = f"127.0.0.1/32:{site.rpartition(':')[2]}"
    ordinary = Corral.environment
    monkeypatch.setattr(
        Corral, "environment", lambda self, settings: ordinary(self, {"APP_EGRESS_ALLOW": allowed, **settings})
    )


def test_a_job_goes_its_way_from_added_to_removed(shared: Corral, site: str, started_forks: Started) -> None:
    options = ("--fields", "title", "--frequency", "daily", "--priority", "high", "--strategy", "http")
    job_id = shared("job", "add", f"{site}/articles", *options, "--no-verify-tls").out.strip()
    [job] = shared.here("job", "list", "--json").json
    assert (job["id"], job["status"], job["frequency"], job["priority"]) == (job_id, "validated", "daily", "high")

    run_id = shared.here("run", "start", job_id).out.strip()
    shown = shared.here("job", "show", job_id).out
    assert run_id in shown
    assert ["verify_tls", "false"] in [line.lower().split() for line in shown.splitlines()]
    assert shared.here("job", "rm", job_id).code == 1

    worker = started_forks(shared, "worker")
    line_with(worker, "Corral works: 1 worker process,")
    followed = shared("events", "-f", run_id)
    assert [line.split()[1] for line in followed.out.splitlines()] == ["·", "!", "→", "←"]
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(10) == 0

    assert [record["data"] for record in shared.here("records", run_id, "--json").json] == [{"title": "Articles"}]
    assert shared.here("records", run_id).out == "title  Articles\n"
    assert shared.here("run", "show", run_id).out.splitlines()[2].split() == ["status", "completed"]
    again = shared("run", "retry", run_id, "--json").json
    assert again["retry_of"] == run_id

    assert shared.here("run", "cancel", again["id"]).code == 0
    assert shared.here("job", "rm", job_id).code == 0
    assert shared.here("job", "list", "--json").json == []


def test_a_run_is_held_and_let_go(shared: Corral, site: str) -> None:
    job_id = shared.here("job", "add", f"{site}/articles", "--fields", "title").out.strip()
    run_id = shared.here("run", "start", job_id, "--strategy", "http").out.strip()

    assert "nothing was written" in shared.here("run", "pause", run_id, "--dry-run").out
    assert shared.here("run", "pause", run_id).out.strip() == run_id
    assert [run["id"] for run in shared.here("run", "list", "--status", "paused", "--job", job_id, "--json").json] == [
        run_id
    ]
    assert "the run is paused" in shared.here("run", "pause", run_id).err
    assert shared.here("run", "resume", run_id, "--json").json["status"] == "queued"
    assert shared.here("run", "retry", run_id, "--dry-run").code == 1
    assert [json.loads(line)["message"] for line in _first_lines(shared, run_id, 3)] == [
        "Run created",
        "Run paused",
        "Run resumed",
    ]


def _first_lines(corral: Corral, run_id: str, count: int) -> list[str]:
    """What `events -f --json` prints at once; then it is interrupted, as a person would."""
    process = corral.start_fork("events", "-f", run_id, "--json")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(count)]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10 * SLACK)
    assert (process.returncode, err) == (130, "")
    return lines


def test_an_unknown_id_fails_and_a_malformed_one_is_a_bad_argument(corral: Corral) -> None:
    assert corral.here("run", "cancel", UNKNOWN, "--dry-run").code == 1
    assert not corral.data.exists(), "a dry run creates no database"
    missing = corral("run", "show", UNKNOWN)
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == f"corral: no run {UNKNOWN}\n  fix: list runs with `corral run list`\n"
    assert corral.here("job", "show", "nonsense").code == 2


def test_a_loopback_job_that_nobody_allowed_is_refused(corral: Corral, site: str) -> None:
    done = corral.here("job", "add", f"{site}/articles", "--fields", "title", APP_EGRESS_ALLOW="")

    assert done.code == 1
    assert "private or reserved address" in done.err
    assert "APP_EGRESS_ALLOW" in done.err


def test_a_dry_run_of_a_job_says_what_it_would_be(corral: Corral, site: str) -> None:
    options = ("--fields", "title", "--frequency", "*/5 * * * *", "--no-robots", "--no-verify-tls")
    done = corral.here("job", "add", f"{site}/articles", *options, "--dry-run", "--json")

    assert done.json["job"]["verify_tls"] is False
    assert done.json["job"]["frequency"] == "*/5 * * * *"
    assert done.json["job"]["respect_robots"] is False
    assert not corral.data.exists()
    assert corral.here("job", "add", f"{site}/a", "--fields", "title", "--frequency", "often", "--dry-run").code == 2


def test_a_job_over_a_list_or_a_site_is_added(shared: Corral, site: str) -> None:
    add = ("job", "add", f"{site}/articles", "--fields", "title")
    listed = ("--item-links", "li.article a", "--next-page", "a[rel=next]", "--max-items", "3", "--max-pages", "2")
    planned = shared.here(*add, *listed, "--dry-run", "--json").json["job"]
    assert planned["crawl_mode"] == "list"
    assert planned["list_config"] == {
        "item_links": {"css": "li.article a", "attr": "href"},
        "pagination": {"css": "a[rel=next]", "attr": "href"},
        "max_pages": 2,
        "max_items": 3,
    }
    for wrong in (
        ("--next-page", "a"),
        ("--item-links", "li >> a"),
        ("--item-links", "a", "--whole-site"),
        ("--whole-site", "--max-items", "2"),
    ):
        assert shared.here(*add, *wrong).code == 2, wrong
    assert shared.here(*add, "--whole-site", "--dry-run", "--json").json["job"]["crawl_mode"] == "crawl"
