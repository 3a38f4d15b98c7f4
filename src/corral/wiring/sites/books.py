"""The configurations of sites of this installation: files and database."""

import asyncio
from pathlib import Path
from typing import Any

import structlog

from corral.domain.errors import BadConfiguration
from corral.domain.site_config.book import SiteBook, SiteFiles, SiteLayer
from corral.domain.site_config.values import flatten
from corral.settings import Settings
from corral.store.store import Store
from corral.wiring.sites.files import fingerprint, load_site_files

log = structlog.get_logger()


class SiteBooks:
    """Reads the book of sites. If an edit makes a file invalid, it is logged once and the earlier files stay in use."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._fingerprint: tuple[Any, ...] | None = None
        self._files = SiteFiles()

    def check(self) -> None:
        """Read the files; BadConfiguration names every problem."""
        self._fingerprint = fingerprint(self._folder)
        self._files = load_site_files(self._folder)

    async def read(self) -> SiteBook:
        if fingerprint(self._folder) != self._fingerprint:
            await asyncio.to_thread(self._follow_files)
        documents = await self._store.site_configs.documents()
        return SiteBook(self._files, {site: flatten(document) for site, document in documents.items()})

    def _follow_files(self) -> None:
        try:
            self.check()
        except BadConfiguration as error:
            log.warning("site_config_rejected", problems=error.problems)


async def read_book(settings: Settings, store: Store) -> SiteBook:
    """Read the book once, for a command; BadConfiguration names every problem of the files."""
    books = SiteBooks(settings.site_config, store)
    books.check()
    return await books.read()


def settings_layer(settings: Settings) -> SiteLayer:
    """Return the options that the settings imply for a site without a configuration."""
    return SiteLayer(
        {
            "concurrency": settings.host_concurrency,
            "delay_s": settings.host_delay_seconds,
            "strategy": "auto",
            "proxy_policy": "direct",
        },
        {
            "concurrency": "settings (APP_HOST_CONCURRENCY)",
            "delay_s": "settings (APP_HOST_DELAY_SECONDS)",
            "strategy": "settings",
            "proxy_policy": "settings",
        },
    )
