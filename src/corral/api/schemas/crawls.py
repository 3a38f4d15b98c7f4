"""Schemas of one crawl: its counts, its pages, and the history of a URL."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from corral.api.schemas.scraping import TaskProgress, duration_s, plan_of, progress_read
from corral.domain.crawl.crawl import Counts, CrawlPlan, eta_range
from corral.domain.runs.run import Run, RunState
from corral.domain.verdicts.run_verdict import FINDINGS, VERDICT
from corral.store.queries.crawl.crawls import CrawlNow


class CrawlCounts(BaseModel):
    pending: int
    leased: int
    done: int
    failed: int
    skipped: int
    missing: int = Field(description="links that lead to 404 or 410")
    deferred: int = Field(description="fetched after all others, because they may be parts of a trap")
    discovered: int


class HeldBack(BaseModel):
    """Addresses that trap detection held back; `avoid_traps: false` fetches them."""

    reason: str
    template: str | None
    count: int
    example: str | None


class CrawlRead(TaskProgress):
    """The progress of a task, with its counts, limits and plan."""

    counts: CrawlCounts
    bytes: int
    pages_per_second: float | None = Field(description="mean since the start")
    eta_min_seconds: float | None = Field(description="if no page brings new links")
    eta_max_seconds: float | None = Field(description="if pages bring as many new links as so far")
    waiting_for: dict[str, Any] | None = Field(description="while nothing is due: the host, the reason, until when")
    stopped_by: str | None
    held_back: list[HeldBack] = Field(description="known once the crawl has ended")
    left_out: dict[str, int] = Field(
        description="by rule: pages that a rule of Corral left out; the crawl is then partial"
    )
    verdict: str | None = Field(description="on its data, by earlier crawls: ok, suspect or broken; null if not judged")
    verdict_findings: list[dict[str, Any]] = Field(description="the fields that are worse, before and after")
    error_message: str | None
    kept: bool
    forgotten_at: datetime | None = Field(
        description="when it is deleted; null while it runs, if it is kept, or if nothing is deleted by age"
    )
    plan: dict[str, Any]


class ReasonRead(BaseModel):
    state: str
    reason: str = Field(description="code:detail of a failure, or the rule")
    count: int


class PageRead(BaseModel):
    url: str
    depth: int
    state: str
    attempt: int
    reason: str | None
    message: str | None
    http_status: int | None
    due_in_s: float


class ListedPage(PageRead):
    id: int = Field(description="pass the last id as `after` for the next page")


class WhyRead(BaseModel):
    task_id: str
    page: PageRead
    because: str
    way: list[PageRead] = Field(
        description="the page that links to it, the page that links to that one, up to the start"
    )


class KeepRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keep: StrictBool = True


class KeepRead(BaseModel):
    task_id: str
    keep: bool


def crawl_read(
    run: Run, now: CrawlNow, *, is_pinned: bool, keep_hours: float, waits: tuple[str, str, float] | None = None
) -> dict[str, Any]:
    plan, counts = plan_of(run), now.counts
    took_s = duration_s(run)
    rate = counts.fetched / took_s if took_s and counts.fetched else None
    eta = _eta(run, counts, plan, rate, took_s or 0.0)
    expires_at = None
    if run.finished_at is not None and keep_hours and not is_pinned:
        expires_at = run.finished_at + timedelta(hours=keep_hours)
    return {
        **progress_read(run, now),
        "counts": {**_release_leased(run, counts)._asdict(), "discovered": counts.discovered},
        "bytes": now.size,
        "pages_per_second": None if rate is None else round(rate, 2),
        "eta_min_seconds": None if eta is None else round(eta[0], 1),
        "eta_max_seconds": None if eta is None else round(eta[1], 1),
        "waiting_for": None if waits is None else _waiting_for(*waits),
        "stopped_by": run.stats.get("stopped_by"),
        "held_back": run.stats.get("held_back") or [],
        "left_out": run.stats.get("left_out") or {},
        "verdict": run.stats.get(VERDICT),
        "verdict_findings": run.stats.get(FINDINGS) or [],
        "error_message": run.error_message,
        "kept": is_pinned,
        "forgotten_at": expires_at,
        "plan": plan.document(),
    }


def _waiting_for(host: str, reason: str, seconds: float) -> dict[str, Any]:
    return {"host": host, "reason": reason, "until": datetime.now(UTC) + timedelta(seconds=seconds)}


def _release_leased(run: Run, counts: Counts) -> Counts:
    """Count leased pages as pending unless the crawl runs: a stopped crawl has no leases."""
    if run.state is RunState.RUNNING:
        return counts
    return counts._replace(pending=counts.waiting, leased=0)


def _eta(run: Run, counts: Counts, plan: CrawlPlan, rate: float | None, took_s: float) -> tuple[float, float] | None:
    if run.state is not RunState.RUNNING or rate is None:
        return None
    found_links = counts.discovered - counts.skipped - len(plan.start_urls)
    new_per_page = max(0.0, found_links / counts.fetched)
    return eta_range(counts, plan, pages_per_s=rate, new_per_page=new_per_page, elapsed_s=took_s)
