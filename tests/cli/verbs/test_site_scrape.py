"""`corral site scrape` and `corral site watch`: many sites, each with its own limits, dependencies and end."""

import json
from itertools import pairwise

from tests.cli.command import Corral
from tests.cli.sites import pages, urls, write_config
from tests.engine.crawl.site import Page, serve_site

FAST = {"APP_HOST_CONCURRENCY": "10"}


def test_sites_keep_their_own_limits_and_wait_for_each_other(corral: Corral) -> None:
    with serve_site(pages(6, takes_s=0.05)) as narrow, serve_site(pages(3)) as slow, serve_site(pages(2)) as last:
        write_config(corral, narrow, "concurrency: 2\n")
        write_config(corral, slow, "concurrency: 1\ndelay_s: 1\n")
        write_config(corral, last, f"depends_on: ['{slow.url.removeprefix('http://')}']\nurls: ['{last.url}/0']\n")
        sites = {each.url.removeprefix("http://"): each for each in (narrow, slow, last)}
        given = {name: urls(site, len(site.pages)) for name, site in sites.items()}
        (corral.folder / "sites.json").write_text(json.dumps(given))
        answer = corral("site", "scrape", "--file", "sites.json", "--json", **FAST)
        assert answer.code == 0, answer.err
        told = answer.json
        assert (told["status"], told["done"], told["percent"]) == ("completed", 11, 100.0)
        assert [each["site"] for each in told["sites"]] == list(given)

        assert narrow.most_at_once == 2
        assert slow.most_at_once == 1
        asked = [moment for path, moment in slow.asked_at if path != "/robots.txt"]
        # At least half of the delay lies between two requests; how late a busy machine notices the first is left over.
        assert all(later - earlier > 0.095 for earlier, later in pairwise(asked)), "a delay"
        first = min(moment for path, moment in last.asked_at if path != "/robots.txt")
        assert first > max(asked), "the dependent site starts when the other has ended"

    shown = corral.here("site", "watch", "--once")
    assert "11 of 11 pages" in shown.out
    assert corral.here("site", "watch", told["campaign_id"], "--json").json == told
    [listed] = corral.here("site", "watch", "--list", "--json").json
    assert listed == told


def test_a_site_that_fails_leaves_the_others_alone_and_shows_in_the_exit_code(corral: Corral) -> None:
    with serve_site(pages(3)) as good, serve_site({"/0": Page(status=500), "/1": Page(status=500)}) as bad:
        answer = corral("site", "scrape", *urls(good, 3), *urls(bad, 2), "--json", APP_RETRY_BASE_SECONDS="0.01")
    assert answer.code == 3
    states = {each["site"]: (each["status"], each["health"], each["done"]) for each in answer.json["sites"]}
    assert states[good.url.removeprefix("http://")] == ("completed", "healthy", 3)
    assert states[bad.url.removeprefix("http://")] == ("failed", "failing", 0)


def test_what_cannot_be_started_is_refused_before_anything_is_written(corral: Corral) -> None:
    for arguments, said in (
        ((), "no site is given"),
        (("http://a.test/", "--after", "a.test"), "is not SITE=OTHER"),
        (("http://a.test/", "--after", "b.test=a.test"), "b.test is no site of this campaign"),
        (("http://a.test/", "--after", "a.test=a.test"), "a.test -> a.test"),
        (("http://a.test/", "--after", "a.test=b.test"), "a.test depends on b.test"),
        (("unknown.test",), "no URLs are given for unknown.test"),
        (("--file", "none.json"), "cannot be read"),
    ):
        refused = corral.here("site", "scrape", *arguments, "--no-wait")
        assert refused.code == 2, refused
        assert said in refused.err
    assert corral.here("site", "watch", "--list", "--json").json == []
    assert corral.here("site", "watch").code == 1
    planned = corral.here("site", "scrape", "http://a.test/x", "http://www.a.test/y", "--dry-run", "--json").json
    assert planned["sites"] == {"a.test": ["http://a.test/x", "http://www.a.test/y"]}


def test_stopping_one_site_leaves_the_others_alone(corral: Corral) -> None:
    queued = corral.here("site", "scrape", "http://a.test/", "http://b.test/", "--no-wait", "--json").json
    first, second = queued["sites"]
    assert corral.here("run", "cancel", first["job_id"]).code == 0
    told = corral.here("site", "watch", queued["campaign_id"], "--json").json
    assert [each["status"] for each in told["sites"]] == ["cancelled", "queued"]
    assert second["status"] == "queued"


def test_memory_and_proxy_of_a_site_are_its_own(corral: Corral) -> None:
    heavy = {"/0": Page(raw="<p>a</p>" * 120_000)}  # takes some tens of megabytes to read
    with serve_site(heavy) as free, serve_site(heavy) as bound, serve_site(pages(1)) as proxied:
        write_config(corral, bound, "memory_mib: 16\n")
        write_config(corral, proxied, "proxy_policy: http://127.0.0.1:9\n")  # nothing listens there
        given = [f"{site.url}/0" for site in (free, bound, proxied)]
        answer = corral(
            "site", "scrape", *given, "--json", APP_RETRY_BASE_SECONDS="0.01", APP_EGRESS_ALLOW="127.0.0.0/8:*"
        )
    assert answer.code == 3, answer.err
    states = {each["site"]: each["status"] for each in answer.json["sites"]}
    names = [each.url.removeprefix("http://") for each in (free, bound, proxied)]
    assert [states[name] for name in names] == ["completed", "failed", "failed"]
    assert sum(proxied.hits.values()) == 0, "no request without the proxy"
    told = {each["site"]: each for each in corral.here("site", "report", "--json").json["sites"]}
    assert [told[name]["errors"] for name in names[:2]] == [{}, {"limit": 1}]
    assert "proxy" in told[names[2]]["error_message"], told[names[2]]
