"""The command line: what it prints, and the arguments of what it starts."""

import json
import re
from pathlib import Path

from tests.forked.process import start_process
from tests.secrets.planted import Planted, Watcher
from tests.slack import SLACK
from tests.stack import Stack, environment


def commands(stack: Stack, canaries: Planted, folder: Path, sure: Planted) -> str:
    """What is handed over in files, and what is then shown of it."""
    job = stack.job("/account", max_attempts=1, requires_auth=True, strategy="auto")
    held = {
        "password": canaries.secret("wrong_password"),
        "cookie": canaries.secret("cookie_from_file"),
        "proxy": f"http://user:{canaries.secret('proxy_in_a_file')}@{stack.site.removeprefix('http://')}",
        "state.json": json.dumps(_storage_state(stack, canaries)),
        "broken.json": f'[{{"name": "a", "value": "{canaries.secret("broken_cookie_file")}"',
        "wrong.json": json.dumps({"cookies": canaries.secret("wrong_cookie_file")}),
        "bad.json": json.dumps([{"name": "a", "value": canaries.secret("unsendable_cookie") + "\r\n"}]),
    }
    for name, text in held.items():
        (folder / name).write_text(text)
    form = ["--login-url", f"{stack.site}/login", "--fill", "user=demo", "--fill", "password=@password"]
    unknown = ["--login-url", f"{stack.site}/login", "--fill", "nothing=@password"]
    scraped = f"{stack.site}/missing?token={canaries.in_url('scraped')}"
    noted = f"{stack.site}/missing?note={sure.secret('in_scraped')}"
    add = ["session", "add", job["id"]]
    return "".join(
        _run_and_read(arguments, is_good, stack.environment, folder)
        for arguments, is_good in (
            (["session", "capture", job["id"], *form], False),
            (["session", "capture", job["id"], *unknown], False),
            ([*add, "--cookie", "demo_session=@cookie", "--json"], True),
            ([*add, "--cookies", "state.json", "--json"], True),
            ([*add, "--cookies", "broken.json"], False),
            ([*add, "--cookies", "wrong.json"], False),
            ([*add, "--cookies", "bad.json"], False),
            ([*add, "--cookie", canaries.secret("lone_value")], False),
            (["session", "rotate", "--json"], True),
            (["session", "list"], True),
            (["scrape", scraped, "--fields", "title"], False),
            (["scrape", noted, "--fields", "title"], False),
            (["scrape", scraped, "--fields", "title", "--proxy", "@proxy", "--max-attempts", "1"], False),
            (["doctor"], None),
        )
    )


def lists(stack: Stack, folder: Path) -> str:
    """What shows jobs and runs shows where they lead, as the API does."""
    verbs = (["job", "list", "--json"], ["run", "list", "--json"])
    return "".join(_run_and_read(arguments, True, stack.environment, folder) for arguments in verbs)


def key_file(canaries: Planted, folder: Path, site: str) -> str:
    """An installation without a key of its own makes one: it stands in its file and nowhere else."""
    given = environment(folder / "other")
    said = _run_and_read(["job", "add", f"{site}/account", "--fields", "title", "--requires-auth"], True, given, folder)
    job = re.search(r"[0-9a-f]{8}-[0-9a-f-]{27}", said)
    assert job is not None, said
    said += _run_and_read(["session", "add", job[0], "--cookie", "demo_session=@cookie"], True, given, folder)
    said += _run_and_read(["doctor"], None, given, folder)
    [file] = [path for path in (folder / "other").iterdir() if path.is_file() and 40 < path.stat().st_size < 100]
    canaries.secret("key_file", file.read_text().strip())
    file.unlink()
    return said


def bad_settings(canaries: Planted, folder: Path) -> str:
    """What is refused at the start is not repeated."""
    said = ""
    nowhere = "127.0.0.1:9/corral"
    for settings in (
        {"APP_WRITE_TOKEN": canaries.secret("short_token", "hush-hush-9")},
        {"APP_VAULT_KEY": canaries.secret("bad_vault_key")},
        {"APP_WRITE_TOKENS": canaries.secret("misspelt_setting")},
        {"APP_DATABASE_URL": f"postgresql://u:{canaries.secret('unreachable_database')}@{nowhere}"},
        {"APP_DATABASE_URL": f"oracle://u:{canaries.secret('unknown_database')}@{nowhere}"},
    ):
        given = environment(folder / "bad", **settings)
        said += _run_and_read(["doctor"], None, given, folder)
    (folder / "dotenv").mkdir()
    (folder / "dotenv" / ".env").write_text(f"APP_WRITE_TOKEN {canaries.secret('broken_dotenv')}\n")
    return said + _run_and_read(["doctor"], False, environment(folder / "bad"), folder / "dotenv")


def _storage_state(stack: Stack, canaries: Planted) -> dict[str, object]:
    """As Playwright writes it."""
    stored = [{"name": "token", "value": canaries.secret("storage_in_state")}]
    return {
        "cookies": [{"name": "demo_session", "value": canaries.secret("cookie_in_state"), "path": "/"}],
        "origins": [{"origin": stack.site, "localStorage": stored}],
        "headers": {"Authorization": canaries.secret("header_in_state")},
    }


def _run_and_read(arguments: list[str], is_good: bool | None, given: dict[str, str], folder: Path) -> str:
    """All that it printed, with what could be seen of the processes it started. None: it may end either way."""
    process = start_process(arguments, env=given, cwd=folder)
    assert process.stdout is not None
    watcher = Watcher(process.pid)
    watcher.start()
    with process.stdout as told:
        output = told.read().decode()
    watcher.done.set()
    assert is_good in (None, process.wait(60 * SLACK) == 0), (arguments, output)
    return output + "\n".join(watcher.seen)
