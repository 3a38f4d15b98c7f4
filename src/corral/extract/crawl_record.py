"""Decide whether a page of a crawl yields a record."""

from corral.domain.crawl.crawl import CrawlPlan
from corral.extract.fields.complete import is_nothing
from corral.extract.page_reader import ReadAnswer


def has_no_fields(url: str, plan: CrawlPlan, read: ReadAnswer) -> bool:
    """True if the page yields no record. With own code, the code returns the records."""
    if read.rows is not None:
        return not read.rows
    wanted = [spec.name for spec in plan.fields_for(url) if spec.depends_on_page]
    return plan.only_fields and all(is_nothing(read.record.get(name)) for name in wanted)
