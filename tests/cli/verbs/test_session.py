"""Logins at the terminal: captured, added, checked, rotated, removed; nothing secret is ever printed."""

import base64
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.chaos.level import LEVEL
from tests.cli.command import Corral

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("migrated")]
ALLOW = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*"}
CANARY = "canary-of-the-terminal"


def a_job(corral: Corral, site: str) -> str:
    added = corral.here("job", "add", f"{site}/account", "--fields", "title", "--requires-auth", **ALLOW)
    assert added.code == 0, added.err
    return added.out.strip()


def cookies_file(corral: Corral, value: str) -> str:
    path = corral.folder / "cookies.json"
    path.write_text(json.dumps([{"name": "demo_session", "value": value}]))
    return str(path)


def add(corral: Corral, job: str, value: str = CANARY) -> str:
    added = corral.here("session", "add", job, "--cookies", cookies_file(corral, value))
    assert added.code == 0, added.err
    assert CANARY not in added.out + added.err
    return added.out.strip()


def login(site: str) -> str:
    answer = httpx.post(f"{site}/login", data={"username": "demo", "password": "demo"})
    return str(answer.cookies["demo_session"])


def test_a_form_is_filled_in_and_the_session_works(corral: Corral, site: str) -> None:
    job = a_job(corral, site)
    (corral.folder / "password").write_text("demo\n")
    form = ("--login-url", f"{site}/login", "--fill", "user=demo", "--submit", "button[type=submit]")
    captured = corral("session", "capture", job, *form, "--fill", "password=@password", "--json")
    assert captured.code == 0, captured.err
    assert captured.json["cookies"] == 1
    checked = corral("session", "check", captured.json["id"], "--json", **ALLOW)
    assert (checked.code, checked.json["valid"]) == (0, True)
    assert corral.here("session", "list", "--json").json[0]["check"] == "valid"
    wrong = corral("session", "capture", job, *form, "--fill", f"password={CANARY}")
    assert wrong.code == 1
    assert "answered the login with 401" in wrong.err
    unknown = corral("session", "capture", job, "--login-url", f"{site}/login", "--fill", f"nonsense={CANARY}")
    assert (unknown.code, CANARY in unknown.err) == (1, False)


def test_without_a_screen_it_says_what_to_do_instead(corral: Corral, site: str) -> None:
    refused = corral.here("session", "capture", a_job(corral, site), DISPLAY="", WAYLAND_DISPLAY="")
    assert refused.code == 1
    assert "corral session add" in refused.err
    assert corral.here("session", "capture", a_job(corral, site), "--fill", "a=b").code == 2


def test_a_session_is_added_listed_checked_and_removed(corral: Corral, site: str) -> None:
    job = a_job(corral, site)
    session = add(corral, job)
    listed = corral.here("session", "list")
    assert session in listed.out
    assert CANARY not in listed.out
    dead = corral("session", "check", session, **ALLOW)
    assert dead.code == 1
    assert dead.out.startswith("dead: ")
    assert corral.here("session", "rm", session, "--dry-run").code == 0
    assert corral.here("session", "rm", session).code == 0
    assert corral.here("session", "rm", session).code == 1
    assert corral.here("session", "check", session).code == 1


def test_a_plan_and_a_removal_are_told_as_json_too(corral: Corral, site: str) -> None:
    job = a_job(corral, site)
    session = add(corral, job)
    form = ("--login-url", f"{site}/login", "--fill", "user=a")
    plans = {
        ("session", "add", job, "--cookie", "sid=a"): {"job_id": job, "cookies": 1},
        ("session", "capture", job, *form): {"job_id": job, "url": f"{site}/login"},
        ("session", "rotate"): {"sessions": 1},
        ("session", "rm", session): {"job_id": job, "session_id": session},
        ("job", "rm", job): {"job_id": job},
    }
    for verb, about in plans.items():
        planned = corral.here(*verb, "--dry-run", "--json").json
        assert planned.pop("would"), verb
        assert planned == about, verb
    assert corral.here("session", "rm", session, "--json").json == {"removed": "session", "id": session}
    assert corral.here("job", "rm", job, "--json").json == {"removed": "job", "id": job}


@pytest.mark.parametrize(
    "content",
    [
        {"cookies": [{"name": "a", "value": CANARY}], "origins": []},
        {"origins": [{"origin": "http://a.test", "localStorage": [{"name": "k", "value": CANARY}]}]},
        {"storage": {"http://a.test": {"k": CANARY}}, "headers": {"X-Token": CANARY}},
        f"# Netscape HTTP Cookie File\n.a.test\tTRUE\t/\tFALSE\t0\tsid\t{CANARY}\n",
        f"sid={CANARY}; lang=en",
    ],
)
def test_every_usual_shape_of_a_file_is_taken(corral: Corral, site: str, content: object) -> None:
    (corral.folder / "state.json").write_text(content if isinstance(content, str) else json.dumps(content))
    added = corral.here("session", "add", a_job(corral, site), "--cookies", "state.json")
    assert added.code == 0, added.err


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--cookies", "nowhere.json"),
        ("--cookies", "broken.json"),
        ("--cookies", "broken.txt"),
        ("--cookie", CANARY),
        ("--cookie", "a=@nowhere"),
        ("--cookie", f"a={CANARY}\n"),
    ],
)
def test_what_cannot_be_read_is_a_bad_argument_and_not_quoted(
    corral: Corral, site: str, arguments: tuple[str, ...]
) -> None:
    (corral.folder / "broken.json").write_text(f'[{{"name": "{CANARY}"')
    (corral.folder / "broken.txt").write_text(f"{CANARY}\n{CANARY}={CANARY}\n")
    refused = corral.here("session", "add", a_job(corral, site), *arguments)
    assert refused.code == 2, refused
    assert CANARY not in refused.err


@pytest.mark.long
def test_a_value_can_be_typed_instead_of_written_on_the_command_line(corral: Corral, site: str) -> None:
    arguments = ("session", "add", a_job(corral, site), "--cookie", "demo_session=-")
    done = subprocess.run(
        [sys.executable, "-m", "corral", *arguments],
        input=f"{login(site)}\n",
        env=corral.environment({}),
        cwd=corral.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert corral("session", "check", done.stdout.strip(), **ALLOW).code == 0


# -- the key -------------------------------------------------------------------------------------------


def refusal(corral: Corral, **settings: str) -> str:
    answer = corral.here("job", "add", "http://127.0.0.1:1/", "--fields", "a", **{**ALLOW, **settings})
    assert answer.code == 78, answer
    assert "fix: " in answer.err
    return answer.err


def a_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


@pytest.mark.long
def test_corral_does_not_start_without_the_key_of_its_sessions(corral: Corral, site: str) -> None:
    add(corral, a_job(corral, site))
    path = corral.data / "vault.key"
    path.chmod(0o644)
    assert f"chmod 600 {path}" in refusal(corral)
    path.chmod(0o600)
    kept = path.read_text()
    path.unlink()
    assert "has no key" in refusal(corral)
    assert "does not have the key" in refusal(corral, APP_VAULT_KEY=a_key())
    assert CANARY not in refusal(corral, APP_VAULT_KEY=CANARY)
    assert corral("up", "--port", "0").code == 78
    [session] = corral.here("session", "list", "--json").json
    assert (
        corral.here("job", "add", "http://127.0.0.1:1/", "--fields", "a", APP_VAULT_KEY=kept.strip(), **ALLOW).code
        != 78
    )
    assert corral.here("session", "rm", session["id"]).code == 0
    assert corral.here("session", "list").code == 0


@pytest.mark.long
def test_keys_rotate_in_the_file_and_in_the_environment(corral: Corral, site: str) -> None:
    session = add(corral, a_job(corral, site), login(site))
    before = (corral.data / "vault.key").read_text()
    rotated = corral.here("session", "rotate", "--json")
    assert rotated.code == 0, rotated.err
    assert (rotated.json["rewrapped"], rotated.json["broken"]) == (1, [])
    assert len(rotated.json["unused"]) == 1
    after = (corral.data / "vault.key").read_text()
    assert after.splitlines()[1:] == before.splitlines()
    corral.here("session", "rotate")
    assert before.strip() not in (corral.data / "vault.key").read_text()
    assert corral("session", "check", session, **ALLOW).code == 0

    old, new = (corral.data / "vault.key").read_text().splitlines()[0], a_key()
    assert corral.here("session", "rotate", APP_VAULT_KEY=f"{new},{old}").code == 0
    assert corral("session", "check", session, APP_VAULT_KEY=new, **ALLOW).code == 0
    assert "does not have the key" in refusal(corral, APP_VAULT_KEY=old)


@pytest.mark.long
@pytest.mark.parametrize("column", ["box", "wrapped_key"] if LEVEL else ["box"])
def test_an_altered_row_is_refused_by_the_run_and_by_rotation(corral: Corral, site: str, column: str) -> None:
    job = a_job(corral, site)
    session = add(corral, job, login(site))
    with sqlite3.connect(corral.data / "corral.db") as database:
        [(text,)] = database.execute(f"SELECT {column} FROM sessions").fetchall()
        flipped = ("B" if text[20] == "A" else "A").join((text[:20], text[21:]))
        database.execute(f"UPDATE sessions SET {column} = ?", (flipped,))
    checked = corral("session", "check", session, "--json", **ALLOW)
    assert (checked.code, checked.json["valid"]) == (1, False)
    assert "cannot be trusted" in checked.json["reason"]
    if column == "wrapped_key":
        rotated = corral.here("session", "rotate")
        assert rotated.code == 1
        assert session in rotated.err


@pytest.mark.long
def test_a_node_started_before_the_first_session_uses_it(
    corral: Corral, site: str, started: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    job = a_job(corral, site)
    started(corral, "worker", **ALLOW)
    run = corral.here("run", "start", job, **ALLOW).out.strip()
    assert _status(corral, run, "waiting_for_human") == "waiting_for_human"
    added = corral.here("session", "add", job, "--cookies", cookies_file(corral, login(site)))
    assert f"corral run resume {run}" in added.err
    assert corral.here("run", "resume", run).code == 0
    assert _status(corral, run, "completed") == "completed"
    corral.here("session", "rotate")
    second = corral.here("run", "start", job, **ALLOW).out.strip()
    assert _status(corral, second, "completed") == "completed"


def _status(corral: Corral, run: str, wanted: str) -> str:
    deadline = time.monotonic() + 40
    while (status := corral.here("run", "show", run, "--json").json["status"]) != wanted:
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    return str(status)
