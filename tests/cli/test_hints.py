from typing import Any

import pytest

from corral.cli.exits import complain
from corral.cli.hints import hint_for, history_of
from corral.domain.jobs.job import Strategy
from corral.domain.runs.run import CRAWL
from tests.domain.runs.builders import A_RUN


@pytest.mark.parametrize(
    "code, detail, stopped_by, names",
    [
        ("timeout", "total", "time", "--max-time"),
        ("policy", "robots", None, "--no-robots"),
        ("policy", "robots_unreachable", None, "--no-robots"),
        ("policy", "out_of_scope", None, "--allow-domain"),
        ("blocked", "http_403", None, "--concurrency"),
        ("rate_limited", "http_429", None, "corral site pace"),
        ("network", "dns", None, "check its spelling"),
    ],
)
def test_what_is_advised_for_a_crawl_are_options_that_it_has(
    code: str, detail: str, stopped_by: str | None, names: str
) -> None:
    stats = {} if stopped_by is None else {"stopped_by": stopped_by}
    crawl = A_RUN._replace(kind=CRAWL, failure_code=code, failure_detail=detail, stats=stats)
    hint = hint_for(crawl)
    assert hint is not None
    assert names in hint
    assert not {"--timeout", "--strategy", "job add"} & set(hint.replace("`", " ").split())


HTML, JSON, PDF = ({"content_type": kind} for kind in ("text/html", "application/json", "application/pdf"))


@pytest.mark.parametrize(
    "code, detail, strategy, stats, names",
    [
        ("timeout", "total", "http", {}, "--timeout"),
        ("blocked", "login_wall", "browser", {}, "corral session capture"),
        ("blocked", "captcha", "browser", {}, "--on-captcha wait"),
        ("extraction", "fields_missing", "http", JSON, "--jsonpath"),
        ("extraction", "fields_missing", "http", {**PDF, "is_binary": True}, "--save-files"),
        ("extraction", "fields_missing", "http", HTML, "--strategy browser"),
        ("extraction", "fields_missing", "browser", HTML, "--css"),
        ("network", "dns", "http", {}, "spelling"),
        ("bad_response", "http_404", "http", {"http_status": 404}, "moved"),
        ("bad_response", "http_503", "http", {"http_status": 503}, "try again"),
    ],
)
def test_the_advice_fits_the_failure(code: str, detail: str, strategy: str, stats: dict[str, Any], names: str) -> None:
    run = A_RUN._replace(failure_code=code, failure_detail=detail, resolved_strategy=Strategy(strategy), stats=stats)
    assert names in (hint_for(run) or "")


@pytest.mark.parametrize(
    "code, detail",
    [("policy", "scheme"), ("unknown", "bug"), ("worker_lost", "quarantined"), ("limit", "redirects"), (None, None)],
)
def test_there_is_no_fix_where_there_is_none(
    code: str | None, detail: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    run = A_RUN._replace(failure_code=code, failure_detail=detail)
    complain("failed", hint_for(run), history_of(run))
    assert capsys.readouterr().err == f"corral: failed\n  history: corral events {run.id}\n"
