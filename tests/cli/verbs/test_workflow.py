"""`corral workflow` with real processes."""

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.cli.command import Corral
from tests.cli.screen import on_terminal
from tests.slack import SLACK
from tests.waiting import block_until

_MODULE = """
import os, time

def count(start=0):
    return {"n": start + 1, "urls": ["a", "b"]}

async def add(inputs):
    return inputs["one"]["n"] + 1

def fail_once(path):
    if not os.path.exists(path):
        open(path, "w").close()
        raise ValueError("the first time")
    return {"ok": True}

def refuse(path):
    if not os.path.exists(path):
        raise SystemExit(3)
    return {"ok": True}

def wait(seconds):
    time.sleep(seconds)

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)

def leave():
    raise SystemExit(0)

def vanish():
    os._exit(0)

def surrogate():
    return {"text": "\\ud800"}

def large():
    return {"text": "x" * 10_000_000}

def odd():
    return {"text": "${steps.x.output} \\0 \u4e0b\u8f7d", "nan": float("nan"), 1: 2}

def size(inputs):
    return {"bytes": sum(len(each["text"]) for each in inputs.values())}
"""


def write(corral: Corral, name: str, *steps: dict[str, Any], **more: Any) -> str:
    (corral.folder / "steps.py").write_text(_MODULE)
    path = corral.folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, "steps": list(steps), **more}))
    return str(path)


def call(key: str, function: str, *needs: str, **more: Any) -> dict[str, Any]:
    args = more.pop("args", {})
    config = {"function": f"steps:{function}", "args": args}
    return {"key": key, "kind": "python", "depends_on": list(needs), "config": config, **more}


def test_a_definition_runs_to_its_end(corral: Corral) -> None:
    again = corral.folder / "again"
    path = write(
        corral,
        "whole",
        call("one", "count", args={"start": 41}),
        call("two", "add", "one"),
        call("three", "fail_once", "one", args={"path": str(again)}),
        call("none", "refuse", "two", when="${steps.two.output.value} == 0", args={"path": "x"}),
    )
    done = corral("workflow", "run", path, "--json")
    assert done.code == 0, done.err
    tasks = {task["key"]: task for task in done.json["tasks"]}
    assert tasks["two"]["result"] == {"value": 43}
    assert (tasks["three"]["retry_count"], tasks["three"]["result"]) == (1, {"ok": True})
    assert (tasks["none"]["status"], tasks["none"]["error_message"]) == ("skipped", "its condition is false")

    shown = corral.here("workflow", "show", done.json["id"])
    assert "whole v1: completed, 100 %" in shown.out
    assert "flowchart TD" in corral.here("workflow", "show", done.json["id"], "--mermaid").out
    watched = corral.here("workflow", "show", done.json["id"], "--watch", "--json")
    assert watched.json["status"] == "completed"
    assert [each["id"] for each in corral.here("workflow", "list", "--json").json] == [done.json["id"]]
    assert corral.here("workflow", "list", "--status", "failed").out.startswith("no such workflows")


def test_odd_ends_of_functions_are_no_quiet_success(corral: Corral) -> None:
    functions = ("leave", "vanish", "surrogate", "large", "odd")
    steps = [call(each, each, max_retries=0) for each in functions]
    late = call("late", "wait", args={"seconds": 60}, timeout=0.5, max_retries=0)
    path = write(corral, "odd", *steps, late, call("size", "size", "odd"))
    done = corral("workflow", "run", path, "--json")
    assert done.code == 1
    tasks = {task["key"]: task for task in done.json["tasks"]}
    assert "SystemExit: 0" in tasks["leave"]["error_message"]
    assert (tasks["vanish"]["status"], tasks["vanish"]["is_partial"]) == ("completed", True)
    assert "before it returned" in tasks["vanish"]["error_message"]
    assert "surrogates" in tasks["surrogate"]["error_message"]
    assert "more than 1,048,512 bytes" in tasks["large"]["error_message"]
    assert tasks["odd"]["result"] == {"text": "${steps.x.output}  下载", "nan": None, "1": 2}
    assert tasks["size"]["result"] == {"bytes": len("${steps.x.output}  下载")}
    assert (tasks["late"]["status"], "0.5 s" in tasks["late"]["error_message"]) == ("failed", True), tasks["late"]
    partial = corral("workflow", "run", write(corral, "partial", call("vanish", "vanish")))
    assert (partial.code, "partial v1: completed (partial), 100 %, 1/1 steps" in partial.out) == (3, True)
    assert "completed (partial)" in corral.here("workflow", "list").out


def test_a_failed_workflow_is_recovered_and_its_exit_code_says_so(corral: Corral) -> None:
    flag = corral.folder / "flag"
    path = write(
        corral,
        "broken",
        call("one", "count"),
        call("two", "refuse", "one", args={"path": str(flag)}, max_retries=0),
        call("three", "count", "two"),
    )
    failed = corral("workflow", "run", path, "--json")
    assert failed.code == 1
    assert "step two failed" in failed.err
    workflow_id = failed.json["id"]
    planned = corral.here("workflow", "recover", workflow_id, "--dry-run", "--json")
    assert planned.json["steps"] == ["two", "three"]
    assert corral.here("workflow", "recover", workflow_id, "--from-step", "9").code == 2
    assert corral.here("workflow", "resume", workflow_id).code == 1

    flag.touch()
    assert corral.here("workflow", "recover", workflow_id, "--from-step", "two").code == 0
    done = corral("workflow", "run", workflow_id, "--json")
    assert (done.code, done.json["recovery_attempts"]) == (0, 1), done.err
    before, after = failed.json["tasks"][0]["run_id"], done.json["tasks"][0]["run_id"]
    assert before == after, "what completed was not executed again"
    assert corral.here("workflow", "run", workflow_id).code == 2


def test_ctrl_c_pauses_and_the_id_goes_on(corral: Corral, started_forks: Callable[..., Popen[str]]) -> None:
    path = write(corral, "long", call("one", "wait", args={"seconds": 3}), call("two", "count", "one"))
    process = started_forks(corral, "workflow", "run", path)
    workflow = str(block_until(lambda: _find(corral, "running"), within_s=30))
    block_until(lambda: _show(corral, workflow)["tasks"][0]["status"] == "running", within_s=30)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30 * SLACK)
    assert process.returncode == 130
    assert f"corral workflow run {workflow}" in err
    assert _show(corral, workflow)["status"] == "paused"
    done = corral("workflow", "run", workflow, "--json")
    assert (done.code, done.json["status"]) == (0, "completed"), done.err


def _find(corral: Corral, status: str) -> str | None:
    answer = corral.here("workflow", "list", "--status", status, "--json")
    return None if answer.code or not answer.json else str(answer.json[0]["id"])


def _show(corral: Corral, workflow_id: str) -> dict[str, Any]:
    return dict(corral.here("workflow", "show", workflow_id, "--json").json)


def test_a_workflow_is_watched_as_a_live_tree_on_a_terminal(
    corral: Corral, started_forks: Callable[..., Popen[str]]
) -> None:
    go = corral.folder / "go"
    steps = [
        # The dependency of the first step stands below it.
        call("last", "count", "first", "slow"),
        call("first", "count"),
        call("slow", "wait_for", "first", args={"path": str(go)}, estimated_duration=60),
        {"key": "each", "kind": "selftest", "for_each": "${steps.first.output.urls}", "depends_on": ["first"]},
    ]
    workflow = corral.here("workflow", "run", write(corral, "watched", *steps), "--detach", "--json").json["id"]
    with on_terminal(corral, "workflow", "show", workflow, "--watch") as (watching, screen):
        screen.wait_for(lambda shown: "watched v1: running" in shown)
        runner = started_forks(corral, "workflow", "run", workflow)
        shown = screen.wait_for(lambda shown: "2/2 items" in shown and "▶ slow" in shown)
        lines = [line.rstrip() for line in shown.splitlines() if line.strip()]
        assert lines[0] == "watched v1: running, 50 %, 2/4 steps"
        assert lines[1].startswith("└── ✓ first [python] completed, ")
        assert lines[2] == "    ├── ▶ slow [python] running, about 60 s"
        assert lines[3] == "    │   └── · last [python] pending"
        assert lines[4].startswith("    └── ✓ each [selftest] completed, 2/2 items")
        assert len(lines) == 5, "one tree, drawn again and again in the same place"
        assert screen.frames > 1
        go.touch()
        ended = screen.wait_for(lambda shown: "watched v1: completed, 100 %, 4/4 steps" in shown)
        assert ended.count("last [python]") == 1
    assert watching.returncode == 0
    assert runner.wait(30 * SLACK) == 0


def test_pause_and_cancel_by_command(corral: Corral) -> None:
    path = write(corral, "later", call("one", "count"))
    made = corral("workflow", "run", path, "--detach", "--json", "--job", "me").json
    assert made["job_id"] == "me"
    assert "would pause workflow" in corral.here("workflow", "pause", made["id"], "--dry-run").out
    assert corral.here("workflow", "pause", made["id"], "--json").json["status"] == "paused"
    assert corral.here("workflow", "resume", made["id"], "--json").json["status"] == "running"
    assert corral.here("workflow", "cancel", made["id"], "--json").json["status"] == "cancelled"
    assert corral.here("workflow", "cancel", made["id"]).code == 1


def test_a_template_crawls_a_site_and_writes_a_file(corral: Corral, site: str) -> None:
    arguments = ["-p", f"url={site}/", "-p", "max_depth=1", "-p", "max_pages=3", "-p", "output=sub/pages.csv"]
    done = corral("workflow", "run", "--template", "crawl-then-export", *arguments, "--json")
    assert done.code in (0, 3), done.err
    written = Path(done.json["tasks"][1]["result"]["path"])
    assert written == corral.data / "exports/sub/pages.csv"
    with written.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == done.json["tasks"][1]["result"]["records"] == 3


def test_definitions_are_checked(corral: Corral) -> None:
    path = write(corral, "bad", {"key": "a", "kind": "x"}, {"key": "b", "kind": "python", "depends_on": ["c"]})
    checked = corral.here("workflow", "validate", path)
    assert checked.code == 2
    assert checked.err.count("corral: ") == 3
    assert corral.here("workflow", "run", path).code == 2
    good = write(corral, "good", call("one", "count"), call("two", "count", "one"))
    assert corral.here("workflow", "validate", good).out == "good: 2 steps, valid\n"
    assert "s0 --> s1" in corral.here("workflow", "validate", good, "--mermaid").out
    assert "would start workflow good" in corral.here("workflow", "run", good, "--dry-run").out
    assert corral.here("workflow", "validate", "nothing.yaml").code == 78
    assert corral.here("workflow", "validate").code == 2
    (corral.folder / "twice.yaml").write_text("name: a\nsteps: []\nname: b\n")
    assert "line 3: key 'name' occurs twice" in corral.here("workflow", "validate", "twice.yaml").err
    (corral.folder / "broken.yaml").write_text("name: [")
    assert "line 1" in corral.here("workflow", "validate", "broken.yaml").err
    assert "crawl-then-export" in corral.here("workflow", "templates").out
    assert not corral.data.exists() or not list(corral.data.glob("*.db")), "nothing was written"


def test_every_verb_has_an_example(corral: Corral) -> None:
    for verb in ("run", "list", "show", "pause", "resume", "cancel", "recover", "validate", "templates"):
        assert f"  corral workflow {verb}" in corral.here("workflow", verb, "-h").out
