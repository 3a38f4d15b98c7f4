"""Results of crawls by site, as the API and the command line show them."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from corral.domain.crawl.site_statistics import SiteStatistics


class SiteStatisticsRead(BaseModel):
    host: str
    pages_done: int
    pages_failed: int
    pages_skipped: int
    attempts: int = Field(description="all attempts, including those that were retried")
    failed: dict[str, int] = Field(description="pages by the code of their failure")
    skipped: dict[str, int] = Field(description="pages that were skipped after they were fetched, by rule")
    retried: dict[str, int] = Field(description="retried attempts, by their failure")
    bytes: int
    mean_ms: float | None = Field(description="mean time of an attempt, from the request to the end of reading")
    error_rate: float | None = Field(description="share of failed pages among done and failed ones, 0 to 1")
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
