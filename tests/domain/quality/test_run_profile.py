"""Histories by template: what is judged, what a run teaches, and what an accepted run replaces."""

from typing import Any

import orjson

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.fields.own_code import make_parser
from corral.domain.quality.judge import DataVerdict
from corral.domain.quality.profile import ProfileBuilder, observe
from corral.domain.quality.run_profile import RunProfile, judge_run
from corral.domain.quality.thresholds import Thresholds
from corral.domain.verdicts.asked_fields import add_record
from corral.domain.verdicts.crawl_profile import CrawlProfile, profile_key_of_crawl

USUAL = Thresholds()


def a_run(records: int = 10, **data: Any) -> RunProfile:
    record = {"price": "10,00 €", "sku": "A-1", **data}
    return RunProfile({"/p/*": observe([record] * records, ["price", "sku"]), "": observe([{"title": "x"}], ["title"])})


def a_history(runs: int = 40) -> RunProfile:
    history = RunProfile()
    for _ in range(runs):
        history.merge(a_run())
    return RunProfile.of(orjson.loads(orjson.dumps(history.document())))


def judge(history: RunProfile, run: RunProfile) -> DataVerdict:
    verdict = judge_run(history, run, USUAL)
    assert verdict is not None
    return verdict


def test_each_template_is_judged_by_its_own_history() -> None:
    [finding] = judge(a_history(), a_run(price=None)).findings
    assert (finding.template, finding.field, finding.what) == ("/p/*", "price", "fill_rate")
    only_default = RunProfile({"": observe([{"title": "x"}], ["title"])})
    [gone] = judge(a_history(), only_default).findings
    assert (gone.template, gone.field, gone.what, gone.after) == ("/p/*", None, "records", 0)


def test_without_enough_history_there_is_no_verdict() -> None:
    assert judge_run(RunProfile(), a_run(), USUAL) is None
    assert judge_run(a_history(), a_run(), Thresholds(is_on=False)) is None
    assert judge_run(a_history(1), a_run(records=60), USUAL) is None


def test_two_runs_with_many_records_are_enough() -> None:
    history = RunProfile()
    for _ in range(2):
        history.merge(a_run(records=30))
    assert not judge(history, a_run(records=30, price=None)).is_ok


def test_an_accepted_run_replaces_the_history_of_what_differed_and_of_nothing_else() -> None:
    for changed in (a_run(price=None), a_run(price="10,00 $"), a_run(records=3)):
        history = a_history()
        history.adopt(changed, judge(history, changed).findings)
        assert judge(history, changed).is_ok
        assert [each.field for each in judge(history, a_run(sku=None)).findings][:1] != []
    history = a_history()
    dollars = a_run(price="10,00 $")
    history.adopt(dollars, judge(history, dollars).findings)
    # The shape before is no longer the usual one.
    assert [each.what for each in judge(history, a_run()).findings] == ["currency"]


def test_ignored_fields_and_fields_that_are_new_are_not_judged() -> None:
    broken = a_run(price=None)
    verdict = judge_run(a_history(), broken, Thresholds(ignore=("price",)))
    assert verdict is not None
    assert verdict.is_ok
    history = a_history()
    usual = {"price": "10,00 €", "sku": "A-1"}
    history.merge(RunProfile({"/p/*": observe([{**usual, "new": "x"}], ["price", "sku", "new"])}))
    without = RunProfile({"/p/*": observe([usual] * 10, ["price", "sku", "new"])})
    assert judge(history, without).is_ok


def test_only_so_many_values_of_a_large_run_are_described() -> None:
    builder = ProfileBuilder()
    for number in range(3_000):
        builder.add({"price": f"{number} €"}, ["price"])
    profile = builder.finish().fields["price"]
    assert (profile.expected, profile.filled, profile.values) == (3_000, 3_000, 1_000)


def a_plan(**options: Any) -> CrawlPlan:
    return CrawlPlan.of({"start_urls": ["https://example.com/"], "scope": {}, "max_depth": 2, **options})


def test_a_corrected_field_has_the_same_history_and_another_limit_has_not() -> None:
    before = profile_key_of_crawl("job", a_plan(fields=[{"name": "price", "css": ".a"}]))
    assert profile_key_of_crawl("job", a_plan(fields=[{"name": "price", "css": ".b"}])) == before
    assert profile_key_of_crawl("job", a_plan(max_pages=10)) != before
    assert profile_key_of_crawl(None, a_plan()) != before


def test_a_crawl_without_fields_reads_only_its_first_records() -> None:
    profile = CrawlProfile(a_plan())
    page = {"url": "https://example.com/", "title": "A page", "text": "Words of a page. " * 9}
    while not profile.is_enough:
        profile.add([page] * 100)
    found = profile.finish(5_000).templates[""]
    assert round(found.records.typical) == 5_000
    assert set(found.fields) == {"title", "text"}


def test_fields_that_own_code_names_are_judged_although_the_job_does_not_name_them() -> None:
    own = [make_parser("def parse(page): return {}")]

    def observe_own(records: list[dict[str, Any]]) -> RunProfile:
        builder = ProfileBuilder()
        for record in records:
            add_record(builder, {"url": "https://example.com/", **record}, own, ["url"])
        return RunProfile({"": builder.finish()})

    history = RunProfile()
    for _ in range(6):
        history.merge(observe_own([{"price": f"{number},50 €", "sku": f"A-{number}"} for number in range(1, 9)]))
    without = observe_own([{"price": f"{number},50 €"} for number in range(1, 9)])
    assert [(each.field, each.what) for each in judge(history, without).findings] == [("sku", "fill_rate")]
    half = [{"price": f"{number},50 €", **({"sku": "A-1"} if number > 4 else {})} for number in range(1, 9)]
    assert [(each.field, each.what) for each in judge(history, observe_own(half)).findings] == [("sku", "fill_rate")]
    assert "url" not in history.templates[""].fields
