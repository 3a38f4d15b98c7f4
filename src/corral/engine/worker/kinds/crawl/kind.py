"""Declares crawls, and the runs by which other nodes help with a crawl."""

from corral.domain.crawl.payload import CrawlHelperPayload, CrawlPayload
from corral.domain.runs.queues import Lane
from corral.domain.runs.run import CRAWL, CRAWL_HELPER
from corral.engine.worker.kinds.crawl.crawl import CrawlKind
from corral.engine.worker.kinds.spec import KindSpec, WorkerParts


def _build(parts: WorkerParts) -> CrawlKind:
    if parts.crawl_visitor is None:
        raise ValueError("this worker has no visitor for the pages of crawls")
    return CrawlKind(parts.crawl_visitor, parts.retry_policy)


CRAWL_KIND = KindSpec(CRAWL, CrawlPayload, _build, lane=Lane.CRAWL)
CRAWL_HELPER_KIND = KindSpec(CRAWL_HELPER, CrawlHelperPayload, _build)
