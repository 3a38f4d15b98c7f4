"""Options of `corral crawl` that say how pages are fetched, and what is kept of them."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli.files import check_output
from corral.cli.job_draft import proxy_of
from corral.cli.secret_input import read_draft
from corral.domain.errors import BadInput
from corral.engine.usecases.crawls import CrawlAccess
from corral.engine.usecases.sessions import SessionDraft
from corral.settings import Settings
from corral.wiring.app import App

STANDARD_OUTPUT = Path("-")


class CrawlStrategy(StrEnum):
    AUTO = "auto"
    HTTP = "http"
    BROWSER = "browser"


StrategyOption = Annotated[
    CrawlStrategy, typer.Option("--strategy", help="auto renders pages in a browser that are empty without scripts.")
]
BrowserPages = Annotated[
    int, typer.Option("--max-browser-pages", min=0, help="How many pages to render at most with --strategy auto.")
]
MaxScrolls = Annotated[
    int, typer.Option("--max-scrolls", min=0, help="How often to scroll a rendered page, or press its `load more`.")
]

SaveFiles = Annotated[
    bool, typer.Option("--save-files", help="Save PDFs and other files, each with a record of its path.")
]
OutLinks = Annotated[bool, typer.Option("--links", help="Add the links of a page to its record (outlinks).")]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="NAME: VALUE", help="Send this header to the site of URL, and nowhere else."),
]
SingleCookies = Annotated[
    list[str] | None,
    typer.Option(
        "--cookie", metavar="NAME=VALUE", help="Send this cookie; NAME=@FILE reads it, NAME=- prompts for it."
    ),
]
CookieFile = Annotated[
    Path | None,
    typer.Option("--cookies", metavar="FILE", help="Log in with a storage state, a list of cookies or a cookies.txt."),
]
SessionId = Annotated[
    str | None,
    typer.Option("--session", metavar="ID", help="Log in with a session; `corral session list` shows them."),
]
UserAgent = Annotated[str | None, typer.Option("--user-agent", metavar="TEXT", help="Send this user agent.")]
Delay = Annotated[
    float | None,
    typer.Option("--delay", metavar="SECONDS", min=0, max=3600, help="Minimum delay between two pages of one host."),
]


def is_standard_output(path: Path | None) -> bool:
    return path == STANDARD_OUTPUT


def check_destination(output: Path | None, *, as_json: bool, keeps_pages: bool = True) -> Path | None:
    """Where records go: a file whose name says the format, or standard output as JSON lines."""

    if not is_standard_output(output):
        return None if output is None else check_output(output, keeps_pages=keeps_pages)
    if as_json:
        raise BadInput("--json and -o - would both print", field="output", hint="write into a file, or leave --json")
    return output


class Login:
    """What the options say about how the pages are reached; sealed when the crawl is started."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.draft = _draft(given["header"], given["cookies"], given["cookie"])
        self.session_id: str | None = given["session"]
        self.proxy: str | None = given["proxy"]
        self.verify_tls: bool = not given["no_verify_tls"]
        self._check()

    def _check(self) -> None:

        if self.draft is not None and self.session_id is not None:
            raise BadInput("--session and cookies or headers are two logins", field="session", hint="give one of them")

    @property
    def is_given(self) -> bool:
        return self.draft is not None or self.session_id is not None

    async def access(self, app: App, settings: Settings, url: str) -> CrawlAccess:

        login = None
        if self.draft is not None:
            login = app.sessions.seal_for_crawl(url, self.draft)
        elif self.session_id is not None:
            login = await app.store.sessions.get_sealed(self.session_id)
        return CrawlAccess(login, proxy_of(settings, self.proxy, dry_run=False), self.verify_tls)


def _draft(headers: Sequence[str] | None, file: Path | None, singles: Sequence[str] | None) -> SessionDraft | None:

    draft = read_draft(file, singles or (), "crawl") if file or singles else SessionDraft()
    draft = replace(draft, headers={**draft.headers, **dict(_header(text) for text in headers or ())})
    return draft if file or singles or headers else None


def _header(text: str) -> tuple[str, str]:

    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise BadInput("--header is not NAME: VALUE", field="header")
    return name.strip(), value.strip()
