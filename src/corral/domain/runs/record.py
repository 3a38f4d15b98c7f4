"""One extracted result, unique by run and item key."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# The fields of every record of a crawl.
CRAWL_FIELDS = (
    *("url", "title", "depth", "http_status", "source", "timestamp", "word_count", "char_count"),
    *("retry_attempt", "scrape_duration", "text", "full_text"),
)


@dataclass(frozen=True, slots=True)
class Record:
    id: str
    run_id: str
    job_id: str | None
    item_key: str
    data: dict[str, Any]
    created_at: datetime
    details: dict[str, Any] = field(default_factory=dict)  # by field: source, confidence, raw value, problems
    row_key: str | None = None  # the same in every run of the job; None if the item key identifies the row
    verdict: str | None = None  # of its run, if the record is withheld because of it


@dataclass(frozen=True, slots=True)
class RecordFilter:
    job_id: str | None = None
    run_id: str | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    with_withheld: bool = False  # also withheld records; those of one run are always included

    @property
    def is_only_ordinary(self) -> bool:
        return self.run_id is None and not self.with_withheld
