"""`corral`: the table of its verbs, and the entry point. Each verb is a small module in `verbs/`."""

import sys
from typing import Annotated, Literal

import typer

from corral import __version__
from corral.cli.exits import report
from corral.cli.lazy_group import Group, LazyGroup, Verb, build_group
from corral.cli.streams import OutputLost, prepare_streams, report_lost_output
from corral.domain.errors import CorralError

_START, _COLLECT, _CARE = "Start", "Collect", "Operate"

VERBS: tuple[Verb | Group, ...] = (
    Verb("up", "up:up", "Start the API, the dashboard and a node that executes runs.", _START),
    Verb("serve", "serve:serve", "Serve the API and the dashboard, without executing runs.", _START),
    Verb("worker", "worker:worker", "Start a node that executes runs, without the API.", _START),
    Verb("demo", "demo:demo", "Start a sample site, jobs for it, and the dashboard.", _START),
    Verb("scrape", "scrape.command:scrape", "Collect fields from one page, now.", _COLLECT),
    Verb("preview", "preview:preview", "Show what a page offers: fields, selectors, lists.", _COLLECT),
    Verb("crawl", "crawl.command:crawl", "Crawl a site now: title, text and links of every page.", _COLLECT),
    Verb(
        "crawl pages",
        "crawl.pages:crawl_pages",
        "List the pages of a crawl in one state, with the reason.",
        _COLLECT,
    ),
    Verb("run-script", "run_script:run_script", "Execute a script now and keep its records.", _COLLECT),
    Verb(
        "record",
        "recording.record:record",
        "Record a page and what its fields give, as a test.",
        _COLLECT,
    ),
    Verb(
        "test",
        "recording.replay:test",
        "Read recorded pages again, offline, and compare the output.",
        _COLLECT,
    ),
    Verb(
        "reparse",
        "recording.reparse:reparse",
        "Read stored pages again, offline, and show what would change.",
        _COLLECT,
    ),
    Group(
        "job",
        "Jobs, which say what to collect: add, list, show, remove.",
        (
            Verb("add", "job.add:add", "Add a job."),
            Verb("list", "job.list:list_", "List jobs, newest first."),
            Verb("show", "job.list:show", "Show one job with its latest runs."),
            Verb("changes", "job.changes:changes", "Show new, changed and gone rows of a job."),
            Verb("schema", "job.schema:schema", "Print the JSON Schema of the records of a job."),
            Verb("rm", "job.rm:rm", "Remove a job."),
        ),
        _COLLECT,
    ),
    Group(
        "run",
        "Executions of jobs: start, list, show, pause, cancel, retry.",
        (
            Verb("start", "run.start:start", "Start a run of a job."),
            Verb("list", "run.list:list_", "List runs, newest first."),
            Verb("show", "run.show:show", "Show one run: its state, the reason, and its statistics."),
            Verb(
                "cancel",
                "run.control:cancel",
                "Cancel a run that has not ended.",
            ),
            Verb(
                "pause",
                "run.control:pause",
                "Hold a run until it is resumed.",
            ),
            Verb("resume", "run.control:resume", "Let a held run go on."),
            Verb("retry", "run.start:retry", "Repeat an ended run as a new run that is linked to it."),
            Verb("accept", "run.accept:accept", "Accept the data of a run whose verdict is suspect or broken."),
            Verb(
                "keep",
                "run.keep:keep",
                "Exempt a crawl and its records from deletion by age.",
            ),
        ),
        _COLLECT,
    ),
    Group(
        "queue",
        "Tasks for scraper scripts: run, reconcile, import, list, dead.",
        (
            Verb("run", "queue.run:run", "Execute the tasks of a queue file, CRITICAL ones first."),
            Verb(
                "reconcile",
                "queue.reconcile:reconcile_command",
                "Find what is missing, and write tasks for it.",
            ),
            Verb("import", "queue.tasks:import_", "Import the tasks of a queue file; a running Corral executes them."),
            Verb("list", "queue.tasks:list_", "List tasks, newest first."),
            Verb("show", "queue.tasks:show", "Show one task with the history of its runs."),
            Verb("stats", "queue.tasks:stats", "Count the tasks by state, priority and scraper."),
            Verb("dead", "queue.tasks:dead", "List the tasks that failed for good, with the reason."),
            Verb(
                "requeue",
                "queue.tasks:requeue",
                "Start a task again that did not complete.",
            ),
            Verb("cancel", "queue.tasks:cancel", "Cancel a task that has not ended, with its run."),
            Verb(
                "scrapers",
                "queue.tasks:scrapers",
                "List the scrapers, and what is wrong with them.",
            ),
        ),
        _COLLECT,
    ),
    Group(
        "dataset",
        "Image datasets: build one from a configuration file.",
        (Verb("build", "dataset.build:build", "Build an image dataset, or continue its build."),),
        _COLLECT,
    ),
    Group(
        "loop",
        "Find what is missing and collect it, by itself.",
        (
            Verb(
                "start",
                "loop.control:start",
                "Reconcile now and at regular intervals, in a running Corral.",
            ),
            Verb("stop", "loop.control:stop", "Stop the loop: no further reconciliation starts."),
            Verb(
                "status",
                "loop.control:status",
                "Show what the loop does and how it went last.",
            ),
            Verb("run-once", "loop.once:run_once", "Reconcile, and execute the tasks for the gaps, now."),
        ),
        _COLLECT,
    ),
    Group(
        "workflow",
        "Steps with dependencies: run, show, pause, cancel, recover.",
        (
            Verb("run", "workflow.run:run", "Create a workflow and execute it, or go on with one."),
            Verb("list", "workflow.show:list_", "List workflows, newest first."),
            Verb("show", "workflow.show:show", "Show a workflow: its steps, their states and results."),
            Verb("pause", "workflow.control:pause", "Pause a workflow: running steps finish, and none starts."),
            Verb("resume", "workflow.control:resume", "Let a paused or pending workflow go on, on the running nodes."),
            Verb("cancel", "workflow.control:cancel", "Cancel a workflow with every step that has not ended."),
            Verb("recover", "workflow.control:recover", "Execute failed and skipped steps again."),
            Verb("validate", "workflow.show:validate", "Check a definition, and name every problem."),
            Verb("templates", "workflow.show:templates", "List the templates with their parameters."),
        ),
        _COLLECT,
    ),
    Group(
        "proxy",
        "Proxy pool: refresh, list, check, tiers, import, export.",
        (
            Verb("refresh", "proxy.refresh:refresh", "Read the sources of proxies and check every proxy."),
            Verb("list", "proxy.pool:list_", "List the proxies of the pool, newest first."),
            Verb("check", "proxy.refresh:check", "Check proxies of the pool now."),
            Verb("tiers", "proxy.tiers:tiers", "Show which tier each site needs: direct, datacentre or residential."),
            Verb("import", "proxy.pool:import_", "Add the proxies of a list to the pool: one a line, or JSON."),
            Verb("export", "proxy.pool:export", "Write the usable proxies to a JSON file, best first."),
            Verb("rm", "proxy.pool:rm", "Remove a proxy from the pool, or all in one state."),
        ),
        _COLLECT,
    ),
    Group(
        "session",
        "Logins of jobs: add, capture, list, check, rotate, rm.",
        (
            Verb("add", "session.add:add", "Add a session to a job that requires a login."),
            Verb(
                "capture",
                "session.capture:capture",
                "Log in, in a window or through a form, and save the session.",
            ),
            Verb("list", "session.list:list_", "List sessions, newest first."),
            Verb("check", "session.check:check", "Request the job's target with a session."),
            Verb("rotate", "session.check:rotate", "Encrypt every session, proxy and alert channel with a new key."),
            Verb("rm", "session.rm:rm", "Remove a session."),
        ),
        _COLLECT,
    ),
    Verb("events", "run.events:events", "Show the events of a run, oldest first.", _COLLECT),
    Verb("records", "run.records:records", "Show the records of a run, in the order of discovery.", _COLLECT),
    Verb(
        "export",
        "export:export",
        "Write the records of a run to a file.",
        _COLLECT,
    ),
    Verb(
        "why",
        "crawl.why:why",
        "Explain the state of a URL in a crawl.",
        _COLLECT,
    ),
    Group(
        "alert",
        "Channels that alerts about campaigns are sent to.",
        (
            Verb("set", "alert:set_channel", "Add or replace a channel."),
            Verb("list", "alert:list_", "List the channels, without their secrets."),
            Verb("test", "alert:send_test", "Send a test message to a channel, and report whether it arrived."),
            Verb("rm", "alert:rm", "Remove a channel."),
        ),
        _CARE,
    ),
    Verb("cost", "cost:cost", "Show what a run, a job or a site has cost.", _CARE),
    Verb("status", "status:status", "Show the nodes, the runs they hold, and the queues.", _CARE),
    Verb(
        "doctor",
        "doctor.command:doctor",
        "Check the settings, the data folder and the database.",
        _CARE,
    ),
    Group(
        "site",
        "Sites: scrape many at once; strategies, recipes, limits.",
        (
            Verb("list", "site.list:list_", "List the known sites, most recently seen first."),
            Verb(
                "show",
                "site.show:show",
                "Show what is known about a site.",
            ),
            Verb(
                "stats",
                "site.statistics:stats",
                "Show crawl statistics by site.",
            ),
            Verb("scrape", "site.scrape:scrape", "Scrape many sites at once, each within its own limits."),
            Verb("watch", "site.watch:watch", "Watch the sites of a campaign until all of them have ended."),
            Verb("report", "site.report:report", "Show the report of a campaign, and what to look at."),
            Verb("pace", "site.pace:pace", "Set the request rate of a site."),
            Verb("recipe", "site.recipe:recipe", "Show a recipe, or change its request and field paths."),
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
                "Copy the SQLite database to PostgreSQL.",
            ),
        ),
        _CARE,
    ),
    Verb(
        "alive",
        "alive:alive",
        "Check whether the local API or Celery worker answers.",
        _CARE,
    ),
    Verb("bench", "bench:bench", "Compare Corral with its peers, side by side.", _CARE),
    Verb("move", "migrate:move", "Former name of `corral db migrate-to`.", hidden=True),
)


_INTRODUCTION = """Say what to collect; Corral decides how, runs it, and records what happened.

\b
corral demo                                       try it on a sample site
corral scrape https://example.com --fields title  collect from one page
corral crawl https://example.com --depth 2        collect from a whole site
corral up                                         API, dashboard, node
"""


def _print_version(requested: bool) -> None:
    if requested:
        print(f"corral {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run before every verb."""


def build() -> LazyGroup:
    # Colours and boxes are for people; in a pipe the help is plain text, and quicker.
    style: Literal["rich"] | None = "rich" if sys.stdout.isatty() else None
    return build_group("corral", _root, VERBS, style, help_text=_INTRODUCTION)


def main() -> None:
    prepare_streams()
    try:
        try:
            build()(prog_name="corral")
        except CorralError as error:
            sys.exit(report(error))
        finally:
            sys.stdout.flush()  # while a full disk can still be reported
    except OutputLost as error:
        sys.exit(report_lost_output(error))
