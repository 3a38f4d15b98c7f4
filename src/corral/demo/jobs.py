"""Jobs that show how Corral handles a site that misbehaves."""

from dataclasses import dataclass

from corral.demo.content import articles


@dataclass(frozen=True, slots=True)
class DemoJob:
    name: str
    shows: str
    path: str
    fields: tuple[str, ...] = ("title",)
    strategy: str = "http"
    frequency: str = "on_demand"
    priority: str = "medium"
    max_attempts: int = 3
    timeout_s: int = 20

    def body(self, base_url: str) -> dict[str, object]:
        """Return the body for POST /jobs, for a site at this address."""
        return {
            "target_url": base_url.rstrip("/") + self.path,
            "fields": list(self.fields),
            "strategy": self.strategy,
            "frequency": self.frequency,
            "priority": self.priority,
            "max_attempts": self.max_attempts,
            "timeout_s": self.timeout_s,
        }


DEMO_JOBS: tuple[DemoJob, ...] = (
    DemoJob(
        name="article",
        shows="a page that simply works",
        path=f"/articles/{articles()[0].slug}",
        fields=("title", "description", "author"),
        strategy="auto",
        priority="high",
    ),
    DemoJob(
        name="flaky",
        shows="a 503 that is retried and recovers",
        # The first request succeeds: creating a job requests the target once, and a 5xx would reject the job.
        path="/flaky?key=demo&after=1&fail=1",
    ),
    DemoJob(
        name="rate-limited",
        shows="a 429, repeated after its Retry-After",
        path="/limited?key=demo",
        max_attempts=4,
    ),
    DemoJob(
        name="blocked",
        shows="a block page: retried another way, then failed with the reason",
        path="/blocked",
        max_attempts=2,
    ),
    DemoJob(
        name="missing",
        shows="a 404, which fails at once because trying again cannot help",
        path="/missing",
        priority="low",
    ),
    DemoJob(
        name="slow",
        shows="a page that takes its time while others go ahead",
        path="/slow?seconds=3",
        timeout_s=10,
    ),
    DemoJob(
        name="hourly",
        shows="a list page visited every hour",
        path="/articles",
        frequency="hourly",
        priority="low",
    ),
)


def demo_jobs(base_url: str) -> list[dict[str, object]]:
    """Return the bodies of DEMO_JOBS, in order, for a site at this address."""
    return [job.body(base_url) for job in DEMO_JOBS]
