"""No crawl ends as completed from which a rule of ours left something out."""

from typing import Any

from corral.domain.crawl.templates.traps import PROVEN
from corral.domain.runs.run import Run, RunState
from corral.wiring.app import App
from tests.engine.crawl.crawling import crawl
from tests.stack import demo_site

# What the caller asked for, and what the site asks for.
_ASKED = {"too_deep", "out_of_scope", "excluded", "not_included", "host_budget", "policy:robots", "noindex", "nofollow"}
# Pages that are another page, or lead to pages.
_OTHERS = {"canonical", "sitemap", "listing", "not_a_page", "meta_refresh", "http_404", "http_410", "no_fields"}


def check_complete(run: Run, counts: Any) -> None:
    """Completed means that everything was fetched but what the caller, or the site, did not want."""
    left_out = {reason for reason in run.stats["reasons"] if reason not in _ASKED | _OTHERS}
    if run.state is RunState.COMPLETED:
        assert not left_out, run.stats["reasons"]
        assert not run.stats["left_out"]
        assert counts.pending + counts.deferred == 0 or run.stats["stopped_by"] == "budget"
    else:
        assert run.state is RunState.PARTIAL
        assert counts.failed or run.stats["left_out"] or run.stats.get("stopped_by") == "time"
    assert {trap for trap in run.stats["reasons"] if trap in PROVEN} <= set(run.stats["left_out"])


async def test_a_crawl_of_the_demo_site_says_what_it_left_out(app: App) -> None:
    with demo_site() as url:
        scope = {"include": ["/articles*", "/shop*", "/missing"]}
        for depth in (1, 4):
            run, found, counts = await crawl(app, f"{url}/", scope=scope, max_depth=depth, strategy="http")
            assert len(found) > depth
            check_complete(run, counts)
