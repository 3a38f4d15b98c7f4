"""Scraping a list of URLs of one site: the plan of its crawl, and its progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from corral.domain.crawl.crawl import Counts, CrawlPlan
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.errors import BadInput
from corral.domain.net.canonical import url_key
from corral.domain.net.url import parse_target
from corral.domain.runs.run import Run

MAX_NAME_CHARS = 200
# Share of failed pages from which a site counts as degraded, and as failed.
_DEGRADED = 0.1
_FAILING = 0.5


@dataclass(frozen=True, slots=True)
class SiteWork:
    site: str
    plan: CrawlPlan

    @staticmethod
    def of(site: str, urls: Sequence[str], options: Mapping[str, object] | None = None) -> "SiteWork":
        """Plan exactly these pages: no links are followed, no duplicates or suspected traps are excluded.

        `options` are further options of the crawl.
        """
        if not 1 <= len(site.strip()) <= MAX_NAME_CHARS:
            raise BadInput("a site needs a name", field="site", hint=f"1 to {MAX_NAME_CHARS} characters")
        if isinstance(urls, str) or not urls:
            raise BadInput(f"no URLs are given for {site}", field="urls", hint='write ["https://…", "https://…"]')
        pages = {url_key(parse_target(url, field="urls")) for url in urls}
        plan = {
            "start_urls": list(urls),
            "max_pages": len(pages),
            "scope": {"mode": "host", "exclude": ["*"]},
            "use_canonical": False,
            "obey_noindex": False,
            "avoid_traps": False,
            **(options or {}),
        }
        return SiteWork(site.strip(), CrawlPlan.of(plan))

    @property
    def about(self) -> dict[str, object]:
        return {"site": self.site, "pages": self.plan.max_pages}


def progress(run: Run, counts: Counts) -> dict[str, Any]:
    """Return progress derived from the rows, so that it is never wrong and never goes backwards."""
    about = run.payload.read(CrawlPayload).about
    total = int(about.get("pages", counts.fetched + counts.waiting))
    tried = counts.done + counts.failed
    pending = 0 if run.state.is_terminal else min(counts.waiting, total - tried)
    ended = total - pending
    return {
        "job_id": run.id,
        "site": about.get("site"),
        "status": run.state.value,
        "total": total,
        "done": counts.done,
        "failed": counts.failed,
        "skipped": max(0, ended - tried),
        "pending": pending,
        "percent": round(100.0 * ended / total, 1) if total else 100.0,
        "error_rate": round(counts.failed / tried, 4) if tried else 0.0,
        "health": site_health(counts),
        "started_at": _format_time(run.started_at),
        "finished_at": _format_time(run.finished_at),
    }


def site_health(counts: Counts) -> str:
    """Return the health of a site, by the share of its pages that failed."""
    tried = counts.done + counts.failed
    if not tried:
        return "unknown"
    rate = counts.failed / tried
    return "healthy" if rate < _DEGRADED else "degraded" if rate < _FAILING else "failing"


def _format_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
