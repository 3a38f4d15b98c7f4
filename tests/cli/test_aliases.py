"""Former names of options, verbs and settings keep working, and only the current names are shown."""

from typing import Any

import pytest

from corral.settings import load_settings
from tests.cli.command import Corral

pytestmark = pytest.mark.usefixtures("migrated")

CRAWL = ("crawl", "http://a.test/", "--dry-run", "--json")
JOB = ("job", "add", "http://a.test/", "--fields", "title", "--dry-run", "--json")


@pytest.mark.parametrize(
    "command, former, current",
    [
        (CRAWL, ["--minutes", "2"], ["--max-time", "2"]),
        (CRAWL, ["--minutes=2"], ["--max-time=2"]),
        (CRAWL, ["--no-avoid-traps"], ["--no-trap-detection"]),
        (CRAWL, ["--keep-noindex"], ["--ignore-noindex"]),
        (JOB, ["--items", "a.item"], ["--item-links", "a.item"]),
        (JOB, ["--item-links", "a", "--next", "a.next"], ["--item-links", "a", "--next-page", "a.next"]),
        (JOB, ["--site"], ["--whole-site"]),
    ],
)
def test_a_former_option_means_the_current_one(
    corral: Corral, command: tuple[str, ...], former: list[str], current: list[str]
) -> None:
    plain, old, new = (_plan(corral, *command, *more) for more in ([], former, current))
    assert old == new != plain


def _plan(corral: Corral, *command: str) -> Any:
    answer = corral.here(*command)
    assert answer.code == 0, answer.err
    plan = answer.json
    for volatile in ("id", "created_at"):
        plan.get("job", {}).pop(volatile, None)
    return plan


def test_the_former_migration_verb_is_accepted(corral: Corral) -> None:
    old, new = corral.here("move", "--to", "mysql://x/y"), corral.here("db", "migrate-to", "mysql://x/y")
    assert (old.code, old.err) == (new.code, new.err) == (2, new.err)
    assert "not the address of a PostgreSQL database" in new.err


@pytest.mark.parametrize(
    "verb, former",
    [
        (("crawl",), ("--minutes", "--fresh", "--no-avoid-traps", "--keep-noindex")),
        (("job", "add"), ("--items", "--next ", "--site ")),
        ((), (" move ",)),
    ],
)
def test_help_shows_current_names_only(corral: Corral, verb: tuple[str, ...], former: tuple[str, ...]) -> None:
    text = corral.here(*verb, "--help").out
    assert not [name for name in former if name in text]


def test_a_mistyped_option_is_answered_with_current_names(corral: Corral) -> None:
    answer = corral.here("crawl", "http://a.test/", "--minute", "2")
    assert (answer.code, "--minutes" in answer.err, "--max-time" in answer.err) == (2, False, True)


SETTINGS = [
    ("APP_MAX_CONCURRENT_TASKS", "APP_MAX_CRAWLS", "max_crawls"),
    ("APP_CONCURRENCY", "APP_RUNS_PER_PROCESS", "runs_per_process"),
    ("APP_GRACE_SECONDS", "APP_SHUTDOWN_GRACE_SECONDS", "shutdown_grace_seconds"),
]


@pytest.mark.parametrize("former, current, name", SETTINGS)
def test_a_former_setting_means_the_current_one(
    monkeypatch: pytest.MonkeyPatch, former: str, current: str, name: str
) -> None:
    monkeypatch.delenv(current, raising=False)
    monkeypatch.setenv(former, "7")
    settings = load_settings()
    assert getattr(settings, name) == 7
    assert name in settings.model_fields_set


@pytest.mark.parametrize("former, current, name", SETTINGS)
def test_the_current_setting_wins_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, former: str, current: str, name: str
) -> None:
    monkeypatch.setenv(former, "7")
    monkeypatch.setenv(current, "9")
    assert getattr(load_settings(), name) == 9
    [line] = caplog.messages
    assert line == f"former_setting_ignored: {former} is ignored because {current} is set"


def test_a_warning_is_a_line_on_standard_error(corral: Corral) -> None:
    answer = corral("run", "list", APP_GRACE_SECONDS="7", APP_SHUTDOWN_GRACE_SECONDS="9")
    assert answer.code == 0
    assert answer.err.count("APP_GRACE_SECONDS is ignored") == 1


def test_a_former_setting_in_dotenv_is_read(corral: Corral) -> None:
    corral.folder.joinpath(".env").write_text("APP_MAX_CONCURRENT_TASKS=none\n")
    answer = corral.here("run", "list")
    assert answer.code == 78
    assert "APP_MAX_CRAWLS='none' (given as APP_MAX_CONCURRENT_TASKS): " in answer.err
