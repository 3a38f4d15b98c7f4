"""Schemas of crawls as tasks: requests and progress."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StrictBool, StringConstraints

from corral.api.schemas.common import PROXY_TEXT, ProxyText, Quality
from corral.api.schemas.fields import FieldName, FieldRecipe, OwnCode, PageFieldsBody, Pattern, field_specs
from corral.domain.crawl.crawl import CrawlPlan, eta_range, percent
from corral.domain.crawl.option_values import MAX_WORKERS
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.errors import BadInput, RunNotFound
from corral.domain.fields.page_fields import MAX_PATTERNS
from corral.domain.fields.spec import FieldSpec
from corral.domain.net.url import MAX_URL_CHARS
from corral.domain.redaction import redact_result_url
from corral.domain.runs.run import CRAWL, Run, RunState, spoken
from corral.domain.verdicts.run_verdict import ACCEPTED, FINDINGS, VERDICT
from corral.engine.usecases.sessions import SessionDraft
from corral.store.queries.crawl.crawls import CrawlNow

TaskStatus = Literal["pending", "running", "completed", "failed", "partial", "cancelled"]
ExportFormat = Literal["json", "csv", "jsonl", "parquet"]
Category = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[\w][\w .&+-]*$")]
Keyword = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Workers = Annotated[int, Field(strict=True, ge=1, le=MAX_WORKERS)]
SecretValue = Annotated[SecretStr, Field(max_length=65_536)]
HeaderName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
CookieName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Domain = Annotated[str, StringConstraints(min_length=1, max_length=253)]
_MAX_PAGES = 1_000
# Options with the same name in the plan.
_PLAN_OPTIONS = (
    *("partial_results_ok", "max_bytes", "max_per_host"),
    *("respect_robots", "follow_nofollow", "obey_noindex", "use_canonical", "avoid_traps", "use_sitemaps", "since"),
    *("order", "keywords", "workers", "save_files", "links", "strategy", "browser_pages", "max_scrolls"),
    *("user_agent", "delay_s", "keep_params"),
)


class AsyncScrapeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    url: str = Field(max_length=MAX_URL_CHARS)
    max_depth: int = Field(1, ge=1, le=5, description="how many links away from the start pages are followed")
    timeout_minutes: float = Field(30, ge=5, le=120)
    max_concurrent_articles: int = Field(10, ge=1, le=25, description="pages at once, in this task")
    retry_attempts: int = Field(3, ge=1, le=5, description="tries for each page")
    partial_results_ok: StrictBool = Field(
        True, description="false: fail the task if any page fails or the time limit is hit"
    )
    export_format: ExportFormat = Field("json", description="of /scraping/tasks/{task_id}/export")
    categories: list[Category] | None = Field(
        None, min_length=1, max_length=50, description="follow only paths that name one"
    )
    max_pages: int = Field(_MAX_PAGES, ge=1, le=1_000_000)
    include: list[Pattern] = Field(default_factory=list, max_length=100, description="such as /articles/*")
    exclude: list[Pattern] = Field(default_factory=list, max_length=100)
    keep: StrictBool = Field(False, description="exempt the task and its records from deletion by age")
    max_bytes: int | None = Field(None, ge=1, le=10**15, description="maximum number of bytes received, over all pages")
    max_per_host: int | None = Field(None, ge=1, le=100_000_000, description="pages of one host at most")
    allowed_domains: list[Domain] = Field(default_factory=list, max_length=1000, description="further domains in scope")
    respect_robots: StrictBool = True
    follow_nofollow: StrictBool = False
    obey_noindex: StrictBool = True
    use_canonical: StrictBool = Field(True, description="record a page under its rel=canonical URL")
    order: Literal["breadth", "best"] = Field("breadth", description="the nearest first, or the highest score first")
    keywords: list[Keyword] = Field(
        default_factory=list, max_length=50, description="words that raise the score of a link"
    )
    since: str | None = Field(None, max_length=100, description="an earlier task, or `last`: report changes since then")
    use_sitemaps: StrictBool = Field(False, description="also crawl the pages listed in the site's sitemaps")
    keep_params: list[Keyword] = Field(
        default_factory=list,
        max_length=50,
        description="query parameters that identify pages although they look like session ids",
    )
    avoid_traps: StrictBool = Field(True, description="defer endless sections such as calendars; false fetches them")
    keep_pages: StrictBool = Field(False, description="archive responses for export as WARC")
    user_agent: str | None = Field(None, min_length=1, max_length=200, description="replaces the default user agent")
    delay_s: float | None = Field(None, ge=0, le=3600, description="minimum delay between two requests to one host")
    headers: dict[HeaderName, SecretValue] = Field(
        default_factory=dict, max_length=50, description="sent to the origin of `url`, never elsewhere; never read back"
    )
    cookies: dict[CookieName, SecretValue] = Field(
        default_factory=dict, max_length=100, description="sent to the host of `url`; never read back"
    )
    session_id: str | None = Field(None, max_length=100, description="a session of a job for the same host")
    proxy_policy: ProxyText | None = Field(None, description=PROXY_TEXT)
    verify_tls: StrictBool = Field(True, description="false accepts any certificate, for this task only")
    strategy: Literal["auto", "http", "browser"] = Field(
        "auto", description="`auto` renders pages in a browser that are empty without their scripts"
    )
    browser_pages: int = Field(200, ge=0, le=1_000_000, description="with `auto`, the maximum number of rendered pages")
    max_scrolls: int = Field(
        50, ge=0, le=10_000, description="maximum scrolls of a rendered page that loads more content"
    )
    save_files: StrictBool = Field(False, description="save non-HTML responses as files, each with a record")
    links: StrictBool = Field(False, description="add the links of a page to its record (`outlinks`)")
    fields: list[FieldName | FieldRecipe] = Field(
        default_factory=list, max_length=200, description="collected from every page, beside its text"
    )
    parse: OwnCode | None = Field(
        None, description="own code for every page, unless the pattern of the page has its own"
    )
    page_fields: list[PageFieldsBody] = Field(
        default_factory=list,
        max_length=MAX_PATTERNS,
        description="fields of the pages whose address matches a pattern; the first pattern that matches counts",
    )
    only_fields: StrictBool = Field(
        False, description="records have the fields and the address only; pages without any of the fields have none"
    )
    quality: Quality = Field(
        default_factory=Quality, description="thresholds of the verdict on the data, by earlier tasks of the same plan"
    )
    workers: Workers | Literal["auto"] = Field(
        "auto", description="maximum number of worker processes, each with its own hosts"
    )

    def draft(self) -> SessionDraft | None:
        """Return the login that the request carries."""
        if not (self.headers or self.cookies):
            return None
        cookies = [{"name": name, "value": value.get_secret_value()} for name, value in self.cookies.items()]
        return SessionDraft(cookies, {}, {name: value.get_secret_value() for name, value in self.headers.items()})

    def plan(self) -> CrawlPlan:
        try:
            return self._plan()
        except BadInput as problem:
            # The plan has other names for these fields.
            field = (problem.field or "").removeprefix("scope.")
            problem.field = "url" if field.startswith("start_urls") else field or None
            raise

    def _code(self) -> tuple[FieldSpec, ...]:
        return () if self.parse is None else (self.parse.spec(),)

    def _plan(self) -> CrawlPlan:
        include = [*self.include, *(pattern for name in self.categories or () for pattern in _category_patterns(name))]
        return CrawlPlan.of(
            {
                "start_urls": [self.url],
                "scope": {
                    "mode": "site",
                    "include": include,
                    "exclude": self.exclude,
                    "allowed_domains": self.allowed_domains,
                },
                "max_depth": self.max_depth,
                "max_pages": self.max_pages,
                "asked_pages": "max_pages" in self.model_fields_set,
                "max_seconds": self.timeout_minutes * 60,
                "concurrency": self.max_concurrent_articles,
                "retry_attempts": self.retry_attempts,
                **{name: getattr(self, name) for name in _PLAN_OPTIONS},
                "keep_pages": self.keep_pages,
                "fields": [spec.document() for spec in (*field_specs(self.fields), *self._code())],
                "page_fields": [fields.document(index) for index, fields in enumerate(self.page_fields)],
                "only_fields": self.only_fields,
            }
        )


def _category_patterns(name: str) -> tuple[str, str]:
    part = name.strip().lower().replace(" ", "-")
    return f"*/{part}/*", f"*/{part}"


class Submitted(BaseModel):
    task_id: str
    status: TaskStatus
    message: str
    estimated_duration_minutes: float


class TaskProgress(BaseModel):
    task_id: str
    status: TaskStatus
    progress: float
    total_items: int
    completed_items: int = Field(description="pages read; pages that redirect to the same page have one result")
    failed_items: int
    current_item: str | None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    duration_seconds: float | None
    eta_seconds: float | None
    url: str = Field(description="the start URL")
    run_status: str = Field(description="the status of the run, which tells paused from pending")
    started_at: datetime | None


class TaskMessage(BaseModel):
    message: str


class TaskResults(BaseModel):
    task_id: str
    status: TaskStatus
    results: list[dict[str, Any]]
    summary: dict[str, Any]
    errors: list[str] | None
    error_details: list[dict[str, Any]] | None
    metadata: dict[str, Any]


class ScrapingStatus(BaseModel):
    service: str
    status: str
    capabilities: list[str]
    orchestrator: dict[str, Any]


def crawl_of(run: Run) -> Run:
    """Return the run; raise RunNotFound if it is no task."""
    if run.kind != CRAWL:
        raise RunNotFound(run.id)
    return run


def plan_of(run: Run) -> CrawlPlan:
    return run.payload.read(CrawlPayload).plan


def status_of(state: str) -> str:
    """Return the status of a task for the state of its run."""
    return "pending" if state in (RunState.QUEUED, RunState.HELD) else state


def duration_s(run: Run) -> float | None:
    if run.started_at is None:
        return None
    return max(0.0, ((run.finished_at or datetime.now(UTC)) - run.started_at).total_seconds())


def progress_read(run: Run, now: CrawlNow) -> dict[str, Any]:
    counts, plan, took_s = now.counts, plan_of(run), duration_s(run)
    eta: float | None = None
    if run.state is RunState.RUNNING and took_s and counts.fetched:
        eta_bounds = eta_range(counts, plan, pages_per_s=counts.fetched / took_s, new_per_page=0.0, elapsed_s=took_s)
        eta = round(eta_bounds[1], 1) if eta_bounds else None
    return {
        "task_id": run.id,
        "status": status_of(run.state.value),
        "progress": 100.0 if run.state is RunState.COMPLETED else round(percent(counts, plan), 1),
        "total_items": counts.fetched + counts.waiting + counts.deferred,
        "completed_items": counts.done,
        "failed_items": counts.failed,
        "current_item": redact_result_url(now.current_url)
        if now.current_url and run.state is RunState.RUNNING
        else None,
        "created_at": run.created_at,
        "updated_at": datetime.fromtimestamp(now.updated_at / 1000, UTC),
        "completed_at": run.finished_at,
        "duration_seconds": took_s,
        "eta_seconds": eta,
        "url": plan.start_urls[0],
        "run_status": spoken(run.state.value, run.hold_reason),
        "started_at": run.started_at,
    }


def summary_read(run: Run, now: CrawlNow, results: int) -> dict[str, Any]:
    counts = now.counts
    total = counts.fetched + counts.waiting + counts.deferred
    return {
        "results_count": results,
        "success_rate": round(100 * counts.done / total, 2) if total else 0.0,
        "total_items": total,
        "completed_items": counts.done,
        "failed_items": counts.failed,
        "total_pages": counts.fetched,
        "successful_pages": counts.done,
        "failed_pages": counts.failed,
        "total_processing_time": duration_s(run),
        "missing_pages": counts.missing,
        "merged_addresses": run.stats.get("merged", 0),
        "held_back": run.stats.get("held_back") or [],
        "left_out": run.stats.get("left_out") or {},
        "stopped_by": run.stats.get("stopped_by"),
        **{name: run.stats[name] for name in (VERDICT, FINDINGS, ACCEPTED) if name in run.stats},
        "reasons": run.stats.get("reasons", {}),
        **({"changes": changes} if (changes := run.stats.get("changes")) else {}),
    }
