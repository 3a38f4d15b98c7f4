"""Options that several verbs share."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corral.domain.errors import BadInput
from corral.domain.ids import is_id
from corral.domain.jobs.job import Priority

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything and show what would be done; do nothing.")]


MaxAttempts = Annotated[
    int | None, typer.Option("--max-attempts", min=1, max=100, help="Tries before the run fails (default 3).")
]


TimeoutS = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3600,
        help="Time limit of one attempt. Over HTTP it also raises the limit of 10 s for the first byte.",
    ),
]


QualityOption = Annotated[
    str | None,
    typer.Option(
        "--quality",
        metavar="off|NAME=VALUE,…",
        help="Thresholds of the verdict on the data: drop=0.3, min_history=5, ignore=FIELD+FIELD; off switches it off.",
    ),
]
ProxyOption = Annotated[
    str | None,
    typer.Option(
        "--proxy",
        metavar="URL|@FILE|pool|tiered",
        help="Fetch through http://, https:// or socks5://[user:password@]host:port. @FILE keeps a password out of"
        " the process list. pool and tiered choose a checked proxy; direct uses none.",
    ),
]


NoVerifyTls = Annotated[
    bool,
    typer.Option(
        "--no-verify-tls",
        help="Accept any certificate: expired, self-signed or for another host. A machine on the network path can then"
        " read and change everything. Each run records this.",
    ),
]


NoRobots = Annotated[bool, typer.Option("--no-robots", help="Ignore robots.txt.")]


UserAgent = Annotated[str | None, typer.Option("--user-agent", metavar="TEXT", help="Send this user agent.")]


Delay = Annotated[
    float | None,
    typer.Option("--delay", metavar="SECONDS", min=0, max=3600, help="Minimum delay between two pages of one host."),
]


KeepParams = Annotated[
    list[str] | None,
    typer.Option("--keep-param", metavar="NAME", help="Keep this query parameter although it looks like a session id."),
]


Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many to show at most.")]


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """How a verb reports what it did, or what it would do."""

    dry_run: DryRun = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """The fields to collect from a page."""

    fields: Annotated[str, typer.Option("--fields", metavar="A,B,…", help="Names of the fields to collect.")] = ""
    css: Annotated[
        list[str] | None,
        typer.Option(
            "--css", metavar="NAME=SELECTOR", help="A field by CSS selector; NAME=SELECTOR@ATTR takes an attribute."
        ),
    ] = None
    xpath: Annotated[
        list[str] | None, typer.Option("--xpath", metavar="NAME=EXPRESSION", help="A field by XPath expression.")
    ] = None
    jsonpath: Annotated[
        list[str] | None, typer.Option("--jsonpath", metavar="NAME=PATH", help="A field by its path in a JSON answer.")
    ] = None
    recipe: Annotated[
        Path | None, typer.Option("--recipe", metavar="FILE", help="Fields from a YAML or JSON file; see the how-to.")
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="A,B,…", help="Fields by which a row is recognized in later runs (the URL of its page)."
        ),
    ] = None
    parse: Annotated[
        Path | None,
        typer.Option("--parse", metavar="FILE", help="A Python file whose function parse(page) returns the records."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """How requests reach a site."""

    proxy: ProxyOption = None
    no_verify_tls: NoVerifyTls = False


@dataclass(frozen=True, kw_only=True)
class ListenOptions:
    """Where the API listens."""

    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000


class PriorityName(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def value_of(self) -> Priority:
        return Priority[self.name]


def check_id(text: str, what: str) -> str:
    """Return the id in its canonical spelling; raise BadInput, not a not-found error, if the text cannot be an id."""
    if not is_id(text):
        raise BadInput(
            f"{text[:80]!r} is not the id of a {what}",
            field=what,
            hint=f"ids look like 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b; `corral {what} list` shows them",
        )
    return text.lower()
