"""Where the queue finds its scrapers."""

from typing import Protocol

from corral.domain.scripts.scraper import ScraperSpec


class ScraperSource(Protocol):
    def names(self) -> tuple[str, ...]: ...

    def describe(self, name: str) -> ScraperSpec:
        """What the configuration says about a scraper, without its command."""
        ...

    def find(self, name: str) -> ScraperSpec:
        """The scraper with the command that starts it now; a CorralError says where it was looked for."""
        ...
