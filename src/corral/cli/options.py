"""Options that several verbs share."""

from enum import StrEnum
from typing import Annotated

import typer

from corral.domain.errors import BadInput
from corral.domain.ids import is_id
from corral.domain.jobs.job import OnTrouble, Priority, Strategy

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would be done; do nothing.")]


Fields = Annotated[str, typer.Option("--fields", metavar="A,B,…", help="Names of the fields to collect.")]


Css = Annotated[
    list[str] | None,
    typer.Option(
        "--css", metavar="NAME=SELECTOR", help="A field by CSS selector; NAME=SELECTOR@ATTR takes an attribute."
    ),
]


Xpath = Annotated[
    list[str] | None, typer.Option("--xpath", metavar="NAME=EXPRESSION", help="A field by XPath expression.")
]


Jsonpath = Annotated[
    list[str] | None, typer.Option("--jsonpath", metavar="NAME=PATH", help="A field by its path in a JSON answer.")
]


StrategyOption = Annotated[Strategy, typer.Option("--strategy", help="How to get the page.")]


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


ProxyOption = Annotated[
    str | None,
    typer.Option(
        "--proxy",
        metavar="URL|@FILE",
        help="Fetch through http://, https:// or socks5://[user:password@]host:port. @FILE keeps a password out of"
        " the process list. direct uses none.",
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


NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Add the job even if its target cannot be resolved or answers 5xx.")
]


OnCaptcha = Annotated[
    OnTrouble, typer.Option("--on-captcha", help="wait holds a run at a captcha until a person resumes it.")
]


OnMissing = Annotated[
    OnTrouble, typer.Option("--on-missing", help="wait holds a run with a missing field until a person resumes it.")
]


Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many to show at most.")]


Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]


Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")]


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
