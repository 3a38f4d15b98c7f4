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
        """Without what this version does not know."""
        known = {each.name for each in fields(JobDefaults)}
        return JobDefaults(**{name: value for name, value in document.items() if name in known})

    def over(self, job: Job, said: Collection[str]) -> Job:
        """The job with these defaults for all that was not `said`, by the names of its own properties."""
        found = {name: value for name, value in self.document().items() if value is not None and name not in said}
        found.pop("max_concurrent_runs", None)
        if job.crawl_mode is not CrawlMode.SINGLE:
            found.pop("timeout_s", None)  # it would be the time for all of its pages
        if "strategy" in found:
            found["strategy"] = Strategy(found["strategy"])
        if "priority" in found:
            found["priority"] = Priority[found["priority"].upper()]
        return replace(job, **found)
