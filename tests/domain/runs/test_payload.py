"""Every kind of run reads the document that its earlier versions stored, and writes the same one."""

from dataclasses import replace
from typing import Any

import pytest

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.payload import CrawlHelperPayload, CrawlPayload, helper_payload
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.payload.stored import Payload, TypedPayload
from corral.domain.runs.payload.survey import SurveyPayload

FIELD = {
    "name": "title",
    "css": "h1",
    "xpath": None,
    "jsonpath": None,
    "attr": None,
    "all": False,
    "regex": None,
    "type": None,
}
SEALED = {"id": "s", "job_id": "crawl", "version": 1, "kid": "k", "wrapped_key": "w", "box": "b"}
PROXY = {"address": "http://proxy.test:8080", "sealed": "k2.box"}
PAGE: dict[str, Any] = {
    "url": "http://shop.test/",
    "fields": [FIELD],
    "respect_robots": False,
    "trusted_hosts": ["b.test", "a.test"],
    "timeout_s": 7,
    "requires_auth": True,
    "verify_tls": False,
    "proxy": PROXY,
    "on_captcha": "wait",
    "on_missing": "wait",
    "recipe": {"id": "r", "version": 2},
}
PLAN = CrawlPlan.of({"start_urls": ["http://shop.test/"], "keep_params": ["sid"], "fields": [FIELD]}).document()
CRAWL: dict[str, Any] = {
    "url": "http://shop.test/",
    "crawl": PLAN,
    "trusted_hosts": [],
    "timeout_s": 60.0,
    "about": {"site": "shop"},
    "login": SEALED,
    "proxy": PROXY,
    "recipes": [{"id": "r", "version": 1}],
}
HELPER = {**CRAWL, "helper": 3, "crawl_started": 12.5, "crawl_run": "run-1"}
SCRIPT: dict[str, Any] = {
    "name": "espn",
    "argv": ["python", "espn.py", "--season", "2024-25"],
    "cwd": "/srv",
    "task_id": "task_000001",
    "env": {"A": "b"},
    "env_names": ["API_KEY"],
    "params": {"season": "2024-25"},
    "limits": {"memory_mib": 64},
    "records": "file:out.jsonl",
    "timeout_s": 60.0,
    "retry_base_s": 1.0,
    "retry_cap_s": 9.0,
}
LEAST_PAGE = {"url": "http://shop.test/", "fields": [], "respect_robots": True, "trusted_hosts": []}


@pytest.mark.parametrize(
    "form, document",
    [
        (PagePayload, PAGE),
        (PagePayload, LEAST_PAGE),
        (SurveyPayload, {**LEAST_PAGE, "survey": "matches"}),
        (CrawlPayload, CRAWL),
        (CrawlHelperPayload, HELPER),
        (ScriptPayload, SCRIPT),
        (ScriptPayload, {"name": "", "argv": ["true"], "cwd": "", "records": "stdout"}),
        (SelftestPayload, {}),
        (SelftestPayload, {"do": "die", "signal": "SIGSEGV", "after_s": 1.5}),
    ],
)
def test_a_stored_document_is_read_and_written_unchanged(form: type[TypedPayload], document: dict[str, Any]) -> None:
    assert form.parse(document).document() == document


def test_options_that_the_document_leaves_out_have_their_defaults() -> None:
    page = PagePayload.parse({})
    assert page == PagePayload()
    assert (page.url, page.respect_robots, page.verify_tls, page.timeout_s) == ("", True, True, None)


def test_a_payload_is_parsed_once_and_serves_the_readers_of_common_options() -> None:
    payload = Payload(PAGE)
    page = payload.read(PagePayload)
    assert payload.read(PagePayload) is page
    assert payload.read(CommonPayload) is page


def test_a_changed_payload_is_another_document() -> None:
    before = Payload(PAGE)
    after = Payload.of(replace(before.read(PagePayload), recipe=None))
    assert after != before
    assert after.document() == {name: value for name, value in PAGE.items() if name != "recipe"}
    assert "shop.test" not in repr(before), "a URL may carry a secret"


def test_a_helper_has_the_options_of_its_crawl() -> None:
    helper = helper_payload(Payload({**CRAWL, "later": 1}), helper=3, started=12.5, run_id="run-1")
    assert helper.document() == {**HELPER, "later": 1}, "options that this version does not know are kept"
    read = helper.read(CrawlHelperPayload)
    assert (read.helper, read.crawl_run, read.plan.start_urls) == (3, "run-1", ("http://shop.test/",))
    assert read.counting_params == read.plan.counting_params == {"sid"}


def test_a_helper_that_an_older_version_queued_is_read() -> None:
    older = {**{name: value for name, value in HELPER.items() if name != "helper"}, "share": 3}
    assert Payload(older).read(CrawlHelperPayload).helper == 3


def test_the_keys_of_the_vault_come_from_login_and_proxy() -> None:
    read = Payload(CRAWL).read(CommonPayload)
    assert read.login is not None
    assert read.proxy is not None
    assert (read.login.kid, read.proxy.kid, read.needs_login) == ("k", "k2", True)
