"""`corral`: the table of its verbs, and the entry point. Each verb is a small module in `verbs/`."""

import sys
from typing import Annotated, Literal

import typer

from corral import __version__
from corral.cli.exits import report
from corral.cli.lazy_group import Group, LazyGroup, Verb, build_group
from corral.cli.streams import Unheard, prepare_streams, told
from corral.domain.errors import CorralError

_START, _COLLECT, _CARE = "Start", "Collect", "Operate"

VERBS: tuple[Verb | Group, ...] = (
    Verb("up", "up:up", "Start the API, the dashboard and a worker node.", _START),
    Verb("serve", "serve:serve", "Serve the API and the dashboard only; runs wait for a `corral worker`.", _START),
    Verb("worker", "worker:worker", "Execute runs, without serving anything.", _START),
    Verb(
        "demo", "demo:demo", "Start a small web site, jobs that collect from it, and `corral up` to watch them.", _START
    ),
    Verb("scrape", "scrape.command:scrape", "Collect fields from one page, now.", _COLLECT),
    Verb(
        "crawl", "crawl.command:crawl", "Crawl a site, now: every page's title and text, and where it leads.", _COLLECT
    ),
    Verb(
        "crawl pages",
        "crawl.pages:crawl_pages",
        "List the pages of a crawl in one state, in the order they were found in, with the reason.",
        _COLLECT,
    ),
    Group(
        "job",
        "What is collected: add, list, show and remove jobs.",
        (
            Verb("add", "job.add:add", "Add a job."),
            Verb("list", "job.list:list_", "List jobs, newest first."),
            Verb("show", "job.list:show", "Show one job with its latest runs."),
            Verb("rm", "job.rm:rm", "Remove a job."),
        ),
        _COLLECT,
    ),
    Group(
        "run",
        "Executions of jobs: start, list, show, cancel, pause, resume, retry, keep.",
        (
            Verb("start", "run.start:start", "Start a run of a job."),
            Verb("list", "run.list:list_", "List runs, newest first."),
            Verb("show", "run.show:show", "Show one run: its state, why, and what it measured."),
            Verb(
                "cancel",
                "run.control:cancel",
                "Cancel a run that has not ended; it stops at once, wherever it is executed.",
            ),
            Verb(
                "pause",
                "run.control:pause",
                "Hold a run until it is resumed; an attempt under way is stopped and does not count.",
            ),
            Verb("resume", "run.control:resume", "Let a held run go on."),
            Verb("retry", "run.start:retry", "Start a new run of what an ended one tried, linked to it."),
            Verb(
                "keep",
                "run.keep:keep",
                "Keep a crawl, and its records, beyond APP_CRAWL_RETENTION_HOURS after its end.",
            ),
        ),
        _COLLECT,
    ),
    Group(
        "session",
        "Logins of jobs: add, capture, list, check, rotate and remove sessions.",
        (
            Verb("add", "session.add:add", "Add a session to a job that requires a login."),
            Verb(
                "capture",
                "session.capture:capture",
                "Log in and keep the session: in a window, or by filling in a form.",
            ),
            Verb("list", "session.list:list_", "List sessions, newest first."),
            Verb("check", "session.check:check", "Look at the job's target with a session."),
            Verb("rotate", "session.check:rotate", "Put every session under a new key."),
            Verb("rm", "session.rm:rm", "Remove a session."),
        ),
        _COLLECT,
    ),
    Verb("events", "run.events:events", "Show what happened to a run, oldest first.", _COLLECT),
    Verb("records", "run.records:records", "Show the records a run found, in the order it found them.", _COLLECT),
    Verb(
        "export",
        "export:export",
        "Write what a run collected into a file, whatever its size; it appears whole or not at all.",
        _COLLECT,
    ),
    Verb(
        "why",
        "crawl.why:why",
        "Say what became of a URL in a crawl: done, failed and why, skipped by which rule, or pending for what.",
        _COLLECT,
    ),
    Verb("status", "status:status", "Show who works, what each worker holds, and what waits in which queue.", _CARE),
    Verb(
        "doctor",
        "doctor.command:doctor",
        "Check the settings, the data folder, the database and everything that must hold in it.",
        _CARE,
    ),
    Group(
        "site",
        "Knowledge about sites: strategies that work, recipes, and request rates.",
        (
            Verb("list", "site.list:list_", "List the sites there is evidence of, the latest first."),
            Verb(
                "show",
                "site.show:show",
                "Show what is known about a site: strategies, costs, recipes, limits and crawl results.",
            ),
            Verb(
                "stats",
                "site.statistics:stats",
                "Show what crawls got from sites: pages done and failed, for what, bytes, and how long a page takes.",
            ),
            Verb("pace", "site.pace:pace", "Say how fast one site may be asked."),
            Verb("recipe", "site.recipe:recipe", "Show a recipe, or change what it calls and where its fields stand."),
        ),
        _CARE,
    ),
    Group(
        "db",
        "The database of this installation.",
        (
            Verb(
                "migrate-to",
                "migrate:migrate_to",
                "Copy everything from the SQLite file to PostgreSQL, including runs in flight.",
            ),
        ),
        _CARE,
    ),
    Verb(
        "alive",
        "alive:alive",
        "Does the API, or the Celery worker, of this machine answer? Exit code: 0 it does, 1 it does not.",
        _CARE,
    ),
    Verb("bench", "bench:bench", "Compare Corral with its peers, side by side.", _CARE),
    Verb("move", "migrate:move", "Former name of `corral db migrate-to`.", hidden=True),
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"corral {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Say what to collect; Corral decides how, runs it, and proves what happened.

    \b
    corral demo                                       a local site, jobs for it, and the dashboard
    corral scrape https://example.com --fields title  one page, now
    corral crawl https://example.com --depth 2        a site, now
    corral up                                         the API, the dashboard and a worker
    """


def build() -> LazyGroup:
    # Colours and boxes are for people; in a pipe the help is plain text, and quicker.
    style: Literal["rich"] | None = "rich" if sys.stdout.isatty() else None
    return build_group("corral", _root, VERBS, style, help_text=None)


def main() -> None:
    prepare_streams()
    try:
        try:
            build()(prog_name="corral")
        except CorralError as error:
            sys.exit(report(error))
        finally:
            sys.stdout.flush()  # while a full disk can still be reported
    except Unheard as error:
        sys.exit(told(error))
