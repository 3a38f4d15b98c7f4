"""What failed pages looked like, over HTTP."""

import stat
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from corral.fetch.browser.launch_args import find_chromium, is_sandboxed
from tests.api.sessions import a_job, add_session, log_in, open_intervention
from tests.cli.command import Corral
from tests.fetch.browsing import needs_chromium
from tests.stack import Stack

pytestmark = pytest.mark.browser


def run_that_fails(stack: Stack) -> dict[str, Any]:
    run = stack.start(stack.job("/blocked", strategy="browser", max_attempts=1))
    ended = stack.wait_for_end(run["id"])
    assert (ended["status"], ended["failure_code"]) == ("failed", "blocked")
    return ended


def list_artifacts(stack: Stack, run: dict[str, Any]) -> list[dict[str, Any]]:
    answer = stack.client.get(f"/jobs/runs/{run['id']}/artifacts")
    assert answer.status_code == 200, answer.text
    return list(answer.json())


def test_a_failed_browser_run_shows_what_the_page_looked_like(stack: Stack) -> None:
    run = run_that_fails(stack)
    shot, html = list_artifacts(stack, run)
    assert (shot["kind"], shot["content_type"], shot["attempt"]) == ("screenshot", "image/png", 1)
    assert (html["kind"], html["content_type"]) == ("html", "text/plain; charset=utf-8")
    assert shot["created_at"].endswith("Z")

    picture = stack.client.get(f"/jobs/runs/{run['id']}/artifacts/{shot['id']}")
    assert picture.status_code == 200
    assert picture.content.startswith(b"\x89PNG")
    assert len(picture.content) == shot["bytes"]
    text = stack.client.get(f"/jobs/runs/{run['id']}/artifacts/{html['id']}")
    assert "<html" in text.text
    for answer, how, kind in ((picture, "inline", "image/png"), (text, "attachment", "text/plain; charset=utf-8")):
        headers = answer.headers
        assert headers["content-type"] == kind
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert headers["content-disposition"].startswith(how)
    for path in (stack.data_dir / "artifacts").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_not_an_artifact_of_this_run_is_not_found(stack: Stack) -> None:
    run, other = run_that_fails(stack), run_that_fails(stack)
    [shot, _] = list_artifacts(stack, run)
    base = f"/jobs/runs/{other['id']}/artifacts"
    for name in (shot["id"], "0" * 32, "x", "..%2F..%2Fcorral.db", f"{shot['id']}.png"):
        answer = stack.client.get(f"{base}/{name}")
        assert answer.status_code == 404, name
    unknown = "01a1de72-ef57-70cc-9efc-dbcdc746657c"
    assert stack.client.get(f"/jobs/runs/{unknown}/artifacts").status_code == 404
    (stack.data_dir / "artifacts" / f"{shot['id']}.png").unlink()
    gone = stack.client.get(f"/jobs/runs/{run['id']}/artifacts/{shot['id']}")
    assert gone.status_code == 404
    assert shot["id"] in gone.json()["error"]["message"]


def test_a_good_run_leaves_nothing(stack: Stack) -> None:
    run = stack.start(stack.job("/articles", strategy="browser"))
    assert stack.wait_for_end(run["id"])["status"] == "completed"
    assert list_artifacts(stack, run) == []


def test_an_intervention_comes_with_a_screenshot(stack: Stack) -> None:
    job = a_job(stack)
    add_session(stack, job, {"name": "demo_session", "value": "no-longer-good"})
    run = stack.start(job)
    stack.until(run["id"], "waiting_for_human")
    waiting = open_intervention(stack, run)
    shot = stack.client.get(waiting["screenshot"])
    assert shot.headers["content-type"] == "image/png"
    assert shot.content.startswith(b"\x89PNG")
    session = {"cookies": [log_in(stack.site)]}
    resolved = stack.client.post(f"/interventions/{waiting['id']}/resolve", json={"session": session}).json()
    assert resolved["screenshot"] == waiting["screenshot"]
    assert stack.wait_for_end(run["id"])["status"] == "completed"

    run = stack.start(a_job(stack))
    stack.until(run["id"], "waiting_for_human")
    assert open_intervention(stack, run)["screenshot"] is None, "no session, no page"
    stack.client.post(f"/jobs/runs/{run['id']}/cancel").raise_for_status()


def test_the_command_line_names_them(stack: Stack) -> None:
    run = run_that_fails(stack)
    terminal = Corral(stack.data_dir.parent)
    told = terminal.here("run", "show", run["id"], "--json", **stack.environment).json
    assert told["artifacts"] == list_artifacts(stack, run)
    shown = terminal.here("run", "show", run["id"], **stack.environment).out
    paths = [Path(line.split()[-1]) for line in shown.splitlines() if "artifacts/" in line]
    assert [path.suffixes for path in paths] == [[".png"], [".html", ".txt"]]
    assert all((stack.data_dir.parent / path).is_file() for path in paths)


def test_the_dashboard_shows_them(stack: Stack) -> None:
    needs_chromium()
    run = run_that_fails(stack)
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=is_sandboxed())
        page = browser.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{stack.url}/#/runs/{run['id']}")
        image = page.wait_for_selector(".artifacts img[src^='data:image/png']", timeout=20_000)
        assert image is not None
        assert image.evaluate("async (node) => { await node.decode(); return node.naturalWidth; }") == 1280
        with page.expect_download() as saved:
            page.click(".artifacts button")
        assert saved.value.suggested_filename.endswith(".html.txt")
        browser.close()
    assert problems == []
