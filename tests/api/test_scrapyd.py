"""The interface of scrapyd, driven by a real client of it."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from scrapyd_api import ScrapydAPI
from scrapyd_api.exceptions import ScrapydResponseError

from tests.scripts.builders import processes_of
from tests.slack import SLACK
from tests.stack import Stack, corral_up
from tests.waiting import block_until

_SCRIPT = """
import argparse, json, os, signal, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--word", default="")
parser.add_argument("--seconds", type=float, default=0)
parser.add_argument("--tags", default="")
parser.add_argument("--stubborn", action="store_true")
options = parser.parse_args()

def end(number, frame):
    open(os.environ["TMPDIR"] + "/" + options.word, "w").write(signal.Signals(number).name)
    sys.exit(0 if not options.stubborn else time.sleep(600))

signal.signal(signal.SIGINT, end)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(options.seconds)
settings = json.loads(os.environ.get("CORRAL_SCRAPER_SETTINGS", "{}"))
print(json.dumps({"word": options.word, "tags": options.tags, "settings": settings}))
"""
_CONFIG = """
scrapers:
  words:
    project: news
    custom_settings: {region: us, delay: 1}
    accepted_parameters: {word: string, seconds: number, stubborn: boolean, tags: list}
  other: {script: scripts/words.py}
"""
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where scripts write which signal they got."""
    return tmp_path_factory.mktemp("notes")


@pytest.fixture(scope="module")
def stack(site: str, notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("scrapyd")
    (folder / "scripts").mkdir()
    (folder / "scripts/words.py").write_text(_SCRIPT)
    (folder / "scripts/words.py").chmod(0o644)
    (folder / "config.yaml").write_text(_CONFIG)
    more = {"APP_SCRAPER_ROOT": str(folder), "APP_SCRAPER_CONFIG": str(folder / "config.yaml"), "TMPDIR": str(notes)}
    with corral_up(tmp_path_factory.mktemp("scrapyd-data"), site, **more) as running:
        yield running


@pytest.fixture
def scrapyd(stack: Stack) -> ScrapydAPI:
    return ScrapydAPI(stack.url)


def _wait_for(scrapyd: ScrapydAPI, job: str, state: str) -> None:
    block_until(lambda: scrapyd.job_status("news", job) == state, within_s=30 * SLACK)


def _get(stack: Stack, path: str, **query: str) -> dict[str, Any]:
    answer = httpx.get(f"{stack.url}/{path}", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return dict(answer.json())


def test_projects_and_spiders_come_from_the_scraper_configuration(stack: Stack, scrapyd: ScrapydAPI) -> None:
    assert scrapyd.list_projects() == ["default", "news"]
    assert scrapyd.list_spiders("news") == ["words"]
    assert scrapyd.list_spiders("default") == ["other"]
    assert scrapyd.list_versions("news") == []
    for call in (scrapyd.list_spiders, scrapyd.list_versions, scrapyd.list_jobs):
        with pytest.raises(ScrapydResponseError, match="project 'nothing' not found"):
            call("nothing")
    assert _get(stack, "listspiders.json")["message"] == "'project' parameter is required"
    assert _get(stack, "listspiders.json", project="news", _version="r7")["message"] == "version 'r7' not found"


def test_a_job_gets_arguments_in_their_types_and_settings_over_those_of_its_configuration(
    stack: Stack, scrapyd: ScrapydAPI
) -> None:
    settings = {"delay": "2", "LOG_LEVEL": "a=b"}
    job = scrapyd.schedule(
        "news", "words", settings=settings, jobid="own-id", word="tree", seconds="0.01", tags=["x", "y"], unused=None
    )
    assert job == "own-id"
    _wait_for(scrapyd, job, "finished")
    [listed] = [each for each in scrapyd.list_jobs("news")["finished"] if each["id"] == job]
    assert (listed["project"], listed["spider"]) == ("news", "words")
    assert TIME.fullmatch(listed["start_time"])
    assert listed["start_time"] <= listed["end_time"]
    [item] = map(json.loads, httpx.get(stack.url + listed["items_url"]).text.splitlines())
    assert item == {"word": "tree", "tags": "x,y", "settings": {"region": "us", "delay": "2", "LOG_LEVEL": "a=b"}}
    assert _get(stack, "status.json", job=job)["currstate"] == "finished"
    assert _get(stack, "status.json", job="nothing", project="news")["currstate"] is None
    assert not any(each["id"] == job for jobs in scrapyd.list_jobs("default").values() if jobs for each in _jobs(jobs))
    with pytest.raises(ScrapydResponseError, match="exists already"):
        scrapyd.schedule("news", "words", jobid=job, word="another")


def test_of_requests_with_one_id_at_the_same_moment_one_is_scheduled(stack: Stack) -> None:
    form = {"project": "news", "spider": "words", "jobid": "twice"}
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: httpx.post(f"{stack.url}/schedule.json", data=form).json(), range(6)))
    assert sorted(answer["status"] for answer in answers) == ["error"] * 5 + ["ok"]


def _jobs(value: Any) -> list[dict[str, Any]]:
    return value if isinstance(value, list) else []


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"project": "nothing"}, "project 'nothing' not found"),
        ({"spider": "nothing"}, "spider 'nothing' not found"),
        ({"spider": "other"}, "spider 'other' not found"),
        ({"_version": "r7"}, "version 'r7' not found"),
        ({"priority": "soon"}, "priority is invalid"),
        ({"priority": "nan"}, "priority is invalid"),
        ({"jobid": "../x"}, "id is not a text"),
        ({"setting": "LOG_LEVEL"}, "setting is invalid"),
        ({"id": "words"}, "argument 'id' is a property of the task"),
        ({"source": "words"}, "argument 'source' is a property of the task"),
        ({"word": "--output=/etc/passwd"}, "begins with"),
        ({"seconds": "long"}, "must be of type number"),
        ({"colour": "red"}, "is not accepted by this scraper"),
    ],
)
def test_what_cannot_be_scheduled_is_refused_and_nothing_is_queued(
    stack: Stack, scrapyd: ScrapydAPI, arguments: dict[str, str], message: str
) -> None:
    before = _list_tasks(stack)
    with pytest.raises(ScrapydResponseError, match=message):
        scrapyd.schedule(**{"project": "news", "spider": "words", **arguments})
    assert _list_tasks(stack) == before


def _list_tasks(stack: Stack) -> list[str]:
    """All of them: those of other tests may still be running."""
    return [task["id"] for task in stack.client.get("/queue/tasks?limit=200").json()]


def test_priorities_are_bands(stack: Stack, scrapyd: ScrapydAPI) -> None:
    bands = {"2": "CRITICAL", "1": "HIGH", "0": "MEDIUM", "-0.5": "LOW"}
    jobs = {number: scrapyd.schedule("news", "words", priority=number) for number in bands}
    found = {number: stack.client.get(f"/queue/tasks/{job}").json()["priority"] for number, job in jobs.items()}
    assert found == bands


@pytest.mark.parametrize(
    "signal, arguments, expected",
    [
        (None, {}, "SIGINT"),
        ("TERM", {}, "SIGTERM"),
        ("SIGKILL", {"stubborn": "true"}, None),
        ("9", {"stubborn": "1"}, None),
    ],
)
def test_a_cancel_sends_its_signal(  # noqa: PLR0917 - fixtures and parameters
    stack: Stack,
    scrapyd: ScrapydAPI,
    notes: Path,
    signal: str | None,
    arguments: dict[str, str],
    expected: str | None,
) -> None:
    name = f"cancelled-{signal}"
    job = scrapyd.schedule("news", "words", word=name, seconds="600", **arguments)
    _wait_for(scrapyd, job, "running")
    run_id = stack.client.get(f"/queue/tasks/{job}").json()["run_id"]
    block_until(lambda: len(processes_of(run_id)) == 1 and _is_ready(run_id), within_s=30 * SLACK)
    [listed] = [each for each in scrapyd.list_jobs("news")["running"] if each["id"] == job]
    assert set(listed) == {"id", "project", "spider", "pid", "start_time", "log_url", "items_url", "run_id"}
    assert scrapyd.cancel("news", job, signal=signal) == "running"
    # Well below the five seconds after which a script is killed that ignores its signal.
    block_until(lambda: processes_of(run_id) == [], within_s=4 * SLACK)
    assert (notes / name).exists() == (expected is not None)
    if expected is not None:
        assert (notes / name).read_text() == expected
    assert scrapyd.job_status("news", job) == "finished"
    assert scrapyd.cancel("news", job) is None
    run = stack.client.get(f"/jobs/runs/{run_id}").json()
    assert (run["status"], run["failure_code"]) == ("cancelled", "cancelled")


def _is_ready(run_id: str) -> bool:
    """Whether the script handles signals: Python blocks in its sleep then."""
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"CORRAL_RUN_ID={run_id}".encode() in (folder / "environ").read_bytes():
                caught = re.search(r"SigCgt:\s*([0-9a-f]+)", (folder / "status").read_text())
                return caught is not None and bool(int(caught[1], 16) & (1 << 14))
        except OSError:
            continue
    return False


def test_a_cancel_of_what_does_not_run_changes_nothing(stack: Stack, scrapyd: ScrapydAPI) -> None:
    assert scrapyd.cancel("news", "nothing") is None
    assert scrapyd.cancel("news", "no\0thing") is None
    with pytest.raises(ScrapydResponseError, match="signal is invalid"):
        scrapyd.cancel("news", "nothing", signal="STOP")
    answer = httpx.post(f"{stack.url}/cancel.json", data={"project": "news"})
    assert (answer.status_code, answer.json()["message"]) == (200, "'job' parameter is required")


def test_uploads_and_deletions_are_refused(stack: Stack, scrapyd: ScrapydAPI) -> None:
    refused = pytest.raises(ScrapydResponseError, match="takes no uploads")
    with refused:
        scrapyd.add_version("news", "1", b"PK")
    with refused:
        scrapyd.delete_version("news", "1")
    with refused:
        scrapyd.delete_project("news")
    answer = httpx.post(f"{stack.url}/schedule.json", files={"project": b"news"})
    assert answer.json()["status"] == "error"
    assert "curl -d" in answer.json()["message"]
    assert scrapyd.list_spiders("news") == ["words"]


def test_forms_are_accepted_by_the_paths_of_scrapyd_only(stack: Stack) -> None:
    assert httpx.post(f"{stack.url}/queue/import", data={"tasks": "1"}).status_code == 415


def test_the_token_is_the_password(site: str, tmp_path: Path) -> None:
    token = "a-token-of-twenty-chars"
    with corral_up(tmp_path, site, APP_WRITE_TOKEN=token, APP_SCRAPER_ROOT=str(tmp_path)) as running:
        scrapyd = ScrapydAPI(running.url, auth=("user", token))
        assert scrapyd.list_projects() == ["default"]
        assert scrapyd.list_jobs("default")["pending"] == []
        for auth in (None, ("user", "wrong")):
            assert httpx.get(f"{running.url}/listprojects.json", auth=auth).status_code == 401
            with pytest.raises(ScrapydResponseError, match="401"):
                ScrapydAPI(running.url, auth=auth).cancel("default", "x")
