import pytest

from corral.cli.hints import hint_for
from corral.domain.run import CRAWL
from tests.domain.test_run import A_RUN


@pytest.mark.parametrize(
    "code, detail, stopped_by, names",
    [
        ("timeout", "total", "time", "--minutes"),
        ("policy", "robots", None, "--no-robots"),
        ("policy", "robots_unreachable", None, "--no-robots"),
        ("policy", "out_of_scope", None, "--allow-domain"),
        ("blocked", "http_403", None, "--concurrency"),
        ("rate_limited", "http_429", None, "corral site pace"),
        ("network", "dns", None, "check the address"),
    ],
)
def test_what_is_advised_for_a_crawl_are_options_that_it_has(
    code: str, detail: str, stopped_by: str | None, names: str
) -> None:
    stats = {} if stopped_by is None else {"stopped_by": stopped_by}
    crawl = A_RUN._replace(kind=CRAWL, failure_code=code, failure_detail=detail, stats=stats)
    assert names in hint_for(crawl)
    assert not {"--timeout", "--strategy", "job add"} & set(hint_for(crawl).replace("`", " ").split())


def test_a_page_has_its_own() -> None:
    assert "--timeout" in hint_for(A_RUN._replace(failure_code="timeout", failure_detail="total"))
