import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import getdoc

import pytest

from corral import __version__
from corral.cli.lazy_group import Group, Verb
from corral.cli.main import VERBS, build
from tests.cli.command import Corral

TOP_VERBS = [
    "up",
    "serve",
    "worker",
    "demo",
    "scrape",
    "crawl",
    "events",
    "records",
    "why",
    "status",
    "doctor",
    "alive",
    "bench",
]
JOB_VERBS = ["add", "list", "show", "rm"]
SITE_VERBS = ["list", "show", "stats", "pace", "recipe"]
SESSION_VERBS = ["add", "capture", "list", "check", "rotate", "rm"]
DB_VERBS = ["migrate-to"]
RUN_VERBS = ["start", "list", "show", "cancel", "pause", "resume", "retry", "keep"]


@pytest.mark.parametrize(
    "verb",
    [[verb] for verb in TOP_VERBS]
    + [["crawl", "pages"]]
    + [["db", verb] for verb in DB_VERBS]
    + [["job", verb] for verb in JOB_VERBS]
    + [["run", verb] for verb in RUN_VERBS]
    + [["session", verb] for verb in SESSION_VERBS]
    + [["site", verb] for verb in SITE_VERBS],
)
def test_every_verb_explains_itself_with_an_example(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build()([*verb, "-h"], prog_name="corral")

    assert ended.value.code == 0
    assert f"\n  corral {verb[0]}" in capsys.readouterr().out


def test_the_version_is_told_and_what_does_not_exist_is_a_bad_argument(corral: Corral) -> None:
    assert corral("--version").out == f"corral {__version__}\n"
    assert corral("collect").code == 2


def _verbs(entries: Iterable[Verb | Group], words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Verb]]:
    for entry in entries:
        if isinstance(entry, Group):
            yield from _verbs(entry.verbs, (entry.name,))
        else:
            yield (*words, entry.name), entry


@pytest.mark.parametrize("words, verb", [pytest.param(*each, id=" ".join(each[0])) for each in _verbs(VERBS)])
def test_the_table_of_verbs_has_the_help_of_the_verb(words: tuple[str, ...], verb: Verb) -> None:
    path, _, function = verb.target.partition(":")
    documentation = getdoc(getattr(import_module(f"corral.cli.verbs.{path}"), function)) or ""
    paragraph = " ".join(documentation.partition("\n\n")[0].split())
    assert verb.help == paragraph.partition(". ")[0].rstrip(".") + "."


def test_help_loads_no_verb_and_nothing_heavy() -> None:
    code = (
        "import sys, corral.cli.main as cli; sys.argv = ['corral', '--help'];"
        "heavy = ('asyncio', 'sqlalchemy', 'fastapi', 'pydantic', 'structlog', 'wreq', 'corral.cli.verbs');"
        "import atexit, os; sys.stdout = open(os.devnull, 'w');"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules], file=sys.__stdout__));"
        "cli.main()"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"


LIGHT = ["run list --json", "job list --json", "status --json"]


def test_light_verbs_load_no_server_and_no_other_database(corral: Corral) -> None:
    corral.create()
    code = (
        "import sys; from corral.cli.main import main\n"
        "heavy = ('psycopg', 'alembic', 'fastapi', 'starlette', 'structlog', 'wreq', 'selectolax',"
        "'rich', 'corral.wiring.app')\n"
        "for command in sys.argv[1:]:\n"
        "    sys.argv = ['corral', *command.split()]\n"
        "    try: main()\n"
        "    except SystemExit as ended: assert not ended.code, command\n"
        "    print(command, [name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code, *LIGHT],
        env=corral.environment({}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stderr.splitlines() == [f"{command} []" for command in LIGHT]


def test_an_interrupt_while_it_is_still_loading_is_no_traceback() -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'corral.cli.streams': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from corral.__main__ import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_it_can_be_started_as_a_module() -> None:
    told = subprocess.run([sys.executable, "-m", "corral", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"corral {__version__}\n"


def test_help_begins_with_an_introduction_and_truncates_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], *([each.name] for each in VERBS if isinstance(each, Group))):
        with pytest.raises(SystemExit):
            build()([*words, "-h"], prog_name="corral", terminal_width=80)
        assert "...\n" not in (shown := capsys.readouterr().out).replace("[ARGS]...", "")
        if not words:
            assert "Say what to collect; Corral decides how, runs it, and records what happened." in shown
            assert "\n  corral scrape https://example.com --fields title" in shown
