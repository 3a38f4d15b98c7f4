"""What crawls got from sites, over the wire and on the command line."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from corral.domain.crawl.site_statistics import SiteStatistics


class SiteStatisticsRead(BaseModel):
    host: str
    pages_done: int
    pages_failed: int
    pages_skipped: int
    attempts: int = Field(description="all there were, those that were followed by another included")
    failed: dict[str, int] = Field(description="pages by the code of their failure")
    skipped: dict[str, int] = Field(description="pages by the rule that skipped them once they were looked at")
    retried: dict[str, int] = Field(description="attempts by the failure after which there was another")
    bytes: int
    mean_ms: float | None = Field(description="of an attempt, from asking to having read it")
    error_rate: float | None = Field(description="failed of those that were done or failed, 0 to 1")
    seen_at: datetime


def site_statistics_read(found: SiteStatistics) -> dict[str, Any]:
    return {
        "host": found.host,
        "pages_done": found.done,
        "pages_failed": found.failed.total(),
        "pages_skipped": found.skipped.total(),
        "attempts": found.attempts,
        "failed": dict(found.failed),
        "skipped": dict(found.skipped),
        "retried": dict(found.retried),
        "bytes": found.size,
        "mean_ms": None if found.mean_ms is None else round(found.mean_ms, 1),
        "error_rate": None if found.error_rate is None else round(found.error_rate, 4),
        "seen_at": datetime.fromtimestamp(found.seen_at / 1000, UTC),
    }
