"""The login of `corral crawl`: a stored session, or cookies and headers from the command line."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.job_draft import proxy_of
from corral.cli.options import NetworkOptions
from corral.cli.secret_input import read_draft
from corral.domain.crawl.payload import CrawlAccess
from corral.domain.errors import BadInput
from corral.domain.quality.thresholds import USUAL_THRESHOLDS, Thresholds
from corral.engine.usecases.sessions import SessionDraft
from corral.settings import Settings
from corral.wiring.app import App


@dataclass(frozen=True, kw_only=True)
class LoginOptions:
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="NAME: VALUE", help="Send this header to the site of URL, and nowhere else."),
    ] = None
    cookie: Annotated[
        list[str] | None,
        typer.Option(
            "--cookie", metavar="NAME=VALUE", help="Send this cookie; NAME=@FILE reads it, NAME=- prompts for it."
        ),
    ] = None
    cookies: Annotated[
        Path | None,
        typer.Option(
            "--cookies", metavar="FILE", help="Log in with a storage state, a list of cookies or a cookies.txt."
        ),
    ] = None
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="Log in with a session; `corral session list` shows them."),
    ] = None


class Login:
    """How a crawl reaches its pages. Reading the options may prompt for secrets; `access` seals them."""

    def __init__(self, options: LoginOptions, network: NetworkOptions, quality: Thresholds = USUAL_THRESHOLDS) -> None:
        self._quality = quality
        self.draft = _draft(options.header, options.cookies, options.cookie)
        self.session_id = options.session
        self.network = network
        if self.draft is not None and self.session_id is not None:
            raise BadInput("--session excludes cookies and headers", field="session", hint="give one of them")

    @property
    def is_set(self) -> bool:
        return self.draft is not None or self.session_id is not None

    async def access(self, app: App, settings: Settings, url: str) -> CrawlAccess:

        login = None
        if self.draft is not None:
            login = app.sessions.seal_for_crawl(url, self.draft)
        elif self.session_id is not None:
            login = await app.store.sessions.get_sealed(self.session_id)
        proxy = proxy_of(settings, self.network.proxy, dry_run=False)
        return CrawlAccess(login, proxy, not self.network.no_verify_tls, quality=self._quality)


def _draft(headers: Sequence[str] | None, file: Path | None, singles: Sequence[str] | None) -> SessionDraft | None:

    draft = read_draft(file, singles or (), "crawl") if file or singles else SessionDraft()
    draft = replace(draft, headers={**draft.headers, **dict(_header(text) for text in headers or ())})
    return draft if file or singles or headers else None


def _header(text: str) -> tuple[str, str]:

    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise BadInput("--header is not NAME: VALUE", field="header")
    return name.strip(), value.strip()
