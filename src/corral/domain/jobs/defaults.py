"""Defaults of new jobs; None leaves a value to the settings of the installation."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from corral.domain.jobs.job import CrawlMode, Job, Priority, Strategy


@dataclass(frozen=True, slots=True)
class JobDefaults:
    strategy: str | None = None
    timeout_s: float | None = None
    max_attempts: int | None = None
    priority: str | None = None
    respect_robots: bool | None = None
    max_concurrent_runs: int | None = None  # of each node; not of a job

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of(document: Mapping[str, Any]) -> "JobDefaults":
        """Parse stored defaults, ignoring keys that this version does not know."""
        names = {each.name for each in fields(JobDefaults)}
        return JobDefaults(**{name: value for name, value in document.items() if name in names})

    def over(self, job: Job, supplied: Collection[str]) -> Job:
        """Return the job with these defaults for every property that is not in `supplied`."""
        defaults = {
            name: value for name, value in self.document().items() if value is not None and name not in supplied
        }
        defaults.pop("max_concurrent_runs", None)
        if job.crawl_mode is not CrawlMode.SINGLE:
            defaults.pop("timeout_s", None)  # it would be the time for all of its pages
        if "strategy" in defaults:
            defaults["strategy"] = Strategy(defaults["strategy"])
        if "priority" in defaults:
            defaults["priority"] = Priority[defaults["priority"].upper()]
        return replace(job, **defaults)
