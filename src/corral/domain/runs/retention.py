"""Retention: what is deleted, and when."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retention:
    """None keeps for ever. Records go with their run unless they are to be kept.

    Crawls have a term of their own, after which they go with their records, except for those a person asked to keep;
    of those, the records stay whatever happens to the run.
    What Corral keeps of a dataset build goes some time after its last run; the dataset itself stays.
    """

    max_age_days: float | None = None
    max_finished_runs: int | None = None
    keep_records: bool = True
    max_crawl_age_hours: float | None = None
    max_dataset_age_days: float | None = None
