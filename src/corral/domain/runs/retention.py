"""Retention: what is deleted, and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention policy; None keeps forever. Records are deleted with their run unless `keep_records` is set.

    Crawls have a limit of their own, after which they are deleted with their records. Crawls that a person pinned keep
    their records, even if the run is deleted. The stored state of a dataset build is deleted some time after its last
    run; the dataset itself stays.
    """

    max_age_days: float | None = None
    max_finished_runs: int | None = None
    keep_records: bool = True
    max_crawl_age_hours: float | None = None
    max_dataset_age_days: float | None = None
