"""The port with which the queue finds its scrapers."""

from typing import Protocol

from corral.domain.scripts.scraper import ScraperSpec


class ScraperSource(Protocol):
    def names(self) -> tuple[str, ...]: ...

    def describe(self, name: str) -> ScraperSpec:
        """Return the configuration of a scraper, without its command."""
        ...

    def find(self, name: str) -> ScraperSpec:
        """Return the scraper with the command that starts it now; a CorralError names the searched locations."""
        ...
