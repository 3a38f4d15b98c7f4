"""A job defines what to collect. It changes rarely; each execution of it is a run."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any

from corral.domain.cost.budget import NO_BUDGET, Budget
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.quality.thresholds import USUAL_THRESHOLDS, Thresholds


class Strategy(StrEnum):
    AUTO = "auto"  # resolved to one of the others when a run is submitted
    HTTP = "http"
    BROWSER = "browser"
    API_REPLAY = "api_replay"


class OnTrouble(StrEnum):
    """What a run does if only a person can help: fail, or wait for that person."""

    FAIL = "fail"
    WAIT = "wait"


class CrawlMode(StrEnum):
    """The pages from which a job collects: see domain.crawl.job_pages."""

    SINGLE = "single"  # its target
    LIST = "list"  # the items of a list that begins there
    CRAWL = "crawl"  # all pages of the site


class Priority(IntEnum):
    """Strict bands: a lower number is served first."""

    CRITICAL = 0
    HIGH = 1
    MEDIUM = 2
    LOW = 3

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Job:
    id: JobId
    target_url: str
    fields: tuple[FieldSpec, ...]
    created_at: datetime
    requires_auth: bool = False
    frequency: str = "on_demand"
    strategy: Strategy = Strategy.AUTO
    priority: Priority = Priority.MEDIUM
    max_attempts: int = 3
    timeout_s: float | None = None
    respect_robots: bool = True
    verify_tls: bool = True  # False accepts every certificate, for this job only
    proxy: ProxyPolicy | None = None  # None: the default of the installation
    crawl_mode: CrawlMode = CrawlMode.SINGLE
    list_config: dict[str, Any] | None = None
    on_captcha: OnTrouble = OnTrouble.FAIL
    on_missing: OnTrouble = OnTrouble.FAIL  # for missing requested fields
    record_key: tuple[str, ...] = ()  # fields by which a row is recognized in later runs; () is its URL
    quality: Thresholds = USUAL_THRESHOLDS  # how far its data may differ from earlier runs
    budget: Budget = NO_BUDGET  # of one run
    # Hosts that the user typed at the terminal; the job may reach them even if they are private.
    trusted_hosts: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job with the state of its latest run."""

    job: Job
    latest_state: str | None
    latest_hold: str | None


@dataclass(frozen=True, slots=True)
class DueJob:
    """A scheduled job that is due."""

    job: Job
    slot_ms: int
