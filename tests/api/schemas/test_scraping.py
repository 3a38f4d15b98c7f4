"""The progress of a task over HTTP."""

from datetime import UTC, datetime, timedelta

from corral.api.schemas.scraping import progress_read
from corral.domain.crawl.crawl import Counts
from corral.domain.runs.payload.stored import Payload
from corral.store.queries.crawl.crawls import CrawlNow
from tests.domain.runs.builders import A_RUN

PLAN = {"start_urls": ["http://site.test/"]}


def eta_of(counts: Counts) -> float:
    """The estimate after ten seconds in which ten pages were fetched."""
    started = datetime.now(UTC) - timedelta(seconds=10)
    run = A_RUN._replace(kind="crawl", payload=Payload({"crawl": PLAN}), started_at=started)
    eta = progress_read(run, CrawlNow(counts, 0, None, 0))["eta_seconds"]
    assert isinstance(eta, float)
    return eta


def test_the_estimate_includes_deferred_pages() -> None:
    without, with_deferred = eta_of(Counts(pending=10, done=10)), eta_of(Counts(pending=10, done=10, deferred=20))
    assert 9 <= without <= 15
    assert 2.5 < with_deferred / without < 3.5
