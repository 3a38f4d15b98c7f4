"""The closing lines of a crawl say which rule left addresses out, and what takes them."""

from typing import Any

import pytest

from corral.cli.verbs.crawl.closing_summary import lines_of
from corral.domain.crawl.crawl import Counts
from corral.domain.crawl.templates.traps import DEFERRING
from tests.domain.runs.builders import A_RUN


def lines(*held_back: dict[str, Any], **stats: Any) -> str:
    return "\n".join(lines_of(A_RUN._replace(stats={"held_back": list(held_back), **stats}), Counts(done=5)))


def a_group(reason: str) -> dict[str, Any]:
    return {"reason": reason, "count": 3, "template": "/a/*", "example": "http://a.test/a/1"}


def test_a_trap_is_named_with_the_option_that_takes_it() -> None:
    told = lines(a_group("endless_growth"))
    assert "3 addresses were held back as parts of a trap; --no-trap-detection" in told
    assert "http://a.test/a/1" in told


@pytest.mark.parametrize("rule", sorted(DEFERRING))
def test_what_the_budget_stopped_is_not_called_a_trap(rule: str) -> None:
    told = lines(a_group(rule), stopped_by="pages")
    assert "trap" not in told
    assert "3 addresses come last and were not reached; a larger budget fetches them" in told
    both = lines(a_group("no_new_content"), a_group("calendar"), stopped_by="pages")
    assert "3 addresses were held back as parts of a trap" in both
    assert "were not reached" in both
