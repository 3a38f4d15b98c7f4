"""The paces of configured sites, for a limiter; they are reloaded while the process runs."""

from collections.abc import Awaitable, Callable

from corral.domain.hosts.limiter import SitePace
from corral.domain.site_config.book import SiteBook

_MAX_HOSTS = 20_000

ReadBook = Callable[[], Awaitable[SiteBook]]


async def _read_nothing() -> SiteBook:
    return SiteBook()


class SitePaces:
    def __init__(self, read: ReadBook = _read_nothing) -> None:
        self._read = read
        self._book = SiteBook()
        self._paces: dict[str, SitePace | None] = {}  # by host key: a limiter looks one up for every request

    def find(self, host_key: str) -> SitePace | None:
        if host_key not in self._paces:
            if len(self._paces) >= _MAX_HOSTS:
                self._paces.clear()
            self._paces[host_key] = self._book.pace_of(host_key)
        return self._paces[host_key]

    async def refresh(self) -> bool:
        """Reload the configurations; return whether they changed."""
        book = await self._read()
        if book == self._book:
            return False
        self._book = book
        self._paces.clear()
        return True
