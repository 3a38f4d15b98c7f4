"""The declaration of a run kind: its name, its payload, where its runs wait, and how they are executed and resumed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.ids import JobId, RunId
from corral.domain.jobs.job import Job, Priority, Strategy
from corral.domain.ports.crawling import CrawlVisitorPort
from corral.domain.ports.datasets import DatasetBuilder
from corral.domain.ports.execution import AlertSender, Executor, Reconciler, RunKind, ScriptRunner
from corral.domain.ports.proxies import ProxyCheckRunner, ProxyListReader
from corral.domain.runs.payload.stored import Payload, TypedPayload
from corral.domain.runs.queues import Lane
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import NewRun
from corral.runtime.new_ids import new_id

# The strategy of runs by lane, for kinds without a choice of strategies.
_STRATEGIES = {lane: Strategy.BROWSER if lane is Lane.BROWSER else Strategy.HTTP for lane in Lane}

ResumeRule = Callable[[Payload, Job], Payload]


def keep_payload(payload: Payload, job: Job) -> Payload:  # noqa: ARG001 - the signature of a resume rule
    """Resume rule of most kinds: a resumed run keeps its original options."""
    return payload


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """Resources of a worker process for its kinds; each kind takes what it needs."""

    pages: Mapping[Strategy, Executor] = field(default_factory=dict)
    surveys: Mapping[Strategy, Executor] = field(default_factory=dict)
    crawl_visitor: CrawlVisitorPort | None = None
    scripts: ScriptRunner | None = None
    reconciler: Reconciler | None = None
    webhooks: Executor | None = None
    exports_folder: Path | None = None  # where steps of workflows write files
    proxy_reader: ProxyListReader | None = None
    proxy_checker: ProxyCheckRunner | None = None
    alerts: AlertSender | None = None
    datasets: DatasetBuilder | None = None
    host_access: HostAccess = UNLIMITED
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class KindSpec:
    name: str
    payload: type[TypedPayload]
    build: Callable[[WorkerParts], RunKind]  # called once in each worker process
    lane: Lane | None = Lane.LIGHT  # None: runs of this kind wait in the lane of their strategy
    resume: ResumeRule = keep_payload  # returns the payload of a run that a person resumes

    def draft_run(
        self,
        payload: TypedPayload,
        *,
        job_id: JobId | None = None,
        priority: Priority = Priority.MEDIUM,
        max_attempts: int = 3,
        strategy: Strategy | None = None,
    ) -> NewRun:
        """Return a run of this kind, without storing it."""
        chosen = strategy or (Strategy.HTTP if self.lane is None else _STRATEGIES[self.lane])
        return NewRun(
            id=RunId(new_id()),
            job_id=job_id,
            kind=self.name,
            priority=priority,
            max_attempts=max_attempts,
            requested_strategy=chosen,
            resolved_strategy=chosen,
            payload=Payload.of(payload),
        )
