"""`corral`: one small file per verb in `verbs/`, registered here."""

import sys
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from corral import __version__
from corral.cli.aliases import command_with_aliases
from corral.cli.exits import report
from corral.cli.streams import Unheard, prepare_streams, told
from corral.cli.verbs import alive, bench, demo, export, migrate, serve, status, up, worker
from corral.cli.verbs.crawl import command, pages, why
from corral.cli.verbs.doctor import command as doctor
from corral.cli.verbs.job import command as job
from corral.cli.verbs.run import command as run
from corral.cli.verbs.run import events, records
from corral.cli.verbs.scrape import command as scrape
from corral.cli.verbs.session import command as session
from corral.cli.verbs.site import command as site
from corral.domain.errors import CorralError

_START, _COLLECT, _CARE = "Start", "Collect", "Look after it"

VERBS = (
    (_START, "up", up.up),
    (_START, "serve", serve.serve),
    (_START, "worker", worker.worker),
    (_START, "demo", demo.demo),
    (_COLLECT, "scrape", scrape.scrape),
    (_COLLECT, "crawl", command.crawl),
    (_COLLECT, "crawl pages", pages.crawl_pages),
    (_COLLECT, "events", events.events),
    (_COLLECT, "records", records.records),
    (_COLLECT, "export", export.export),
    (_COLLECT, "why", why.why),
    (_CARE, "status", status.status),
    (_CARE, "doctor", doctor.doctor),
    (_CARE, "alive", alive.alive),
    (_CARE, "bench", bench.bench),
)
GROUPS = (
    (_COLLECT, "job", job.app),
    (_COLLECT, "run", run.app),
    (_COLLECT, "session", session.app),
    (_CARE, "site", site.app),
    (_CARE, "db", migrate.app),
)


class _Verbs(TyperGroup):
    """Verbs of two words stand beside the verb that is the first of them: `crawl pages RUN` and `crawl URL`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        both = " ".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)


def _print_version(asked: bool) -> None:
    if asked:
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


def build() -> typer.Typer:
    # Colours and boxes are for people; in a pipe the help is plain text, and quicker.
    style: Literal["rich"] | None = "rich" if sys.stdout.isatty() else None
    app = typer.Typer(
        name="corral",
        cls=_Verbs,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=style,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for panel, name, verb in VERBS:
        aliases = {"crawl": command.ALIASES}.get(name, {})
        app.command(name, rich_help_panel=panel, cls=command_with_aliases(aliases))(verb)
    app.command("move", hidden=True)(migrate.move)  # its former name
    for panel, name, group in GROUPS:
        app.add_typer(group, name=name, rich_help_panel=panel)
    return app


def main() -> None:
    prepare_streams()
    try:
        try:
            build()(prog_name="corral")
        except CorralError as error:
            sys.exit(report(error))
        finally:
            sys.stdout.flush()  # here, where a full disk is still somebody's business
    except Unheard as error:
        sys.exit(told(error))
