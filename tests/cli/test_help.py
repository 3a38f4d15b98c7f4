import subprocess
import sys

import pytest

from corral import __version__
from tests.cli.command import Corral

VERBS = [
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
    [[verb] for verb in VERBS]
    + [["crawl", "pages"]]
    + [["db", verb] for verb in DB_VERBS]
    + [["job", verb] for verb in JOB_VERBS]
    + [["run", verb] for verb in RUN_VERBS]
    + [["session", verb] for verb in SESSION_VERBS]
    + [["site", verb] for verb in SITE_VERBS],
)
def test_every_verb_explains_itself_with_an_example(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from corral.cli.main import build

    with pytest.raises(SystemExit) as ended:
        build()([*verb, "-h"], prog_name="corral")

    assert ended.value.code == 0
    assert f"\n  corral {verb[0]}" in capsys.readouterr().out


def test_the_version_is_told_and_what_does_not_exist_is_a_bad_argument(corral: Corral) -> None:
    assert corral("--version").out == f"corral {__version__}\n"
    assert corral("collect").code == 2


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, corral.cli.main as cli; cli.build();"
        "print([name for name in ('sqlalchemy', 'fastapi', 'pydantic', 'structlog', 'wreq') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"


def test_a_list_from_sqlite_loads_no_server_and_no_other_database(corral: Corral) -> None:
    corral.create()
    code = (
        "import sys, atexit; from corral.cli.main import main; sys.argv = ['corral', 'run', 'list', '--json'];"
        "heavy = ('psycopg', 'alembic', 'fastapi', 'starlette', 'structlog', 'wreq', 'selectolax',"
        "'corral.wiring.app');"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules])); main()"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=corral.environment({}), capture_output=True, text=True, check=True
    )
    assert loaded.stdout == "[]\n[]\n"


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
