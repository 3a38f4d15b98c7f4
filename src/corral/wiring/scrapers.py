"""The scrapers that the queue of this installation knows."""

from pathlib import Path

from corral.domain.errors import BadConfiguration
from corral.domain.queue.rules import QueueLimits
from corral.scripts.registry import ScraperRegistry
from corral.settings import Settings


def registry_key(config: Path) -> str:
    """Return the key of a scraper configuration: tasks belong to the configuration that they were imported with."""
    return str(config.absolute())


def queue_limits(settings: Settings, max_concurrent: int) -> QueueLimits:
    return QueueLimits(max_concurrent, settings.queue_lower_share, settings.queue_starts_per_second)


def load_scrapers(settings: Settings, config: Path | None = None) -> ScraperRegistry:
    """Read the scrapers; a configuration that was named must exist."""
    if config is not None and not config.is_file():
        raise BadConfiguration([f"there is no scraper configuration {config}; name one with --scraper-config"])
    return ScraperRegistry.load(config or settings.scraper_config, settings.scraper_root)
