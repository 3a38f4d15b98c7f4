"""The `scrapers:` document: every key has its meaning, every problem its name."""

from typing import Any

import pytest

from corral.domain.scripts.records import RecordsFrom, RecordSource
from corral.domain.scripts.scraper import ParameterSpec, ScraperRate, ScraperRetry, parse_scrapers

WHOLE: dict[str, Any] = {
    "script": "scripts/etl/espn.py",
    "accepted_parameters": ["season", "--game-ids"],
    "timeout": 600,
    "rate_limit": {"requests_per_second": 0.5, "burst_size": 3},
    "retry": {"max_attempts": 4, "base_delay": 2, "max_delay": 60},
    "max_concurrent": 2,
    "storage": {"local_output_dir": "data"},
    "custom_settings": {"region": "us"},
    "env": ["API_KEY"],
    "limits": {"memory_mib": 512},
    "records": "file:out.jsonl",
}


def test_every_key_is_read() -> None:
    document = parse_scrapers({"scrapers": {"espn": WHOLE}})
    spec = document.scrapers["espn"]
    assert document.problems == ()
    assert spec.unused == ()
    assert spec.script == "scripts/etl/espn.py"
    assert spec.parameters == (ParameterSpec("season"), ParameterSpec("game_ids"))
    assert (spec.timeout_s, spec.max_concurrent, spec.env) == (600, 2, ("API_KEY",))
    assert spec.rate == ScraperRate(0.5, 3)
    assert spec.retry == ScraperRetry(4, 2, 60)
    assert (spec.storage, spec.custom_settings) == ({"local_output_dir": "data"}, {"region": "us"})
    assert spec.limits.memory_mib == 512
    assert spec.records == RecordSource(RecordsFrom.FILE, "out.jsonl")


def test_parameters_may_have_rules() -> None:
    rules = {"season": {"type": "str", "required": True, "pattern": r"\d{4}-\d\d"}, "kind": {"choices": ["a", "b"]}}
    spec = parse_scrapers({"scrapers": {"espn": {"accepted_parameters": rules}}}).scrapers["espn"]
    assert spec.parameters == (
        ParameterSpec("season", "string", is_required=True, pattern=r"\d{4}-\d\d"),
        ParameterSpec("kind", choices=("a", "b")),
    )


def test_short_forms() -> None:
    document = parse_scrapers({"scrapers": {"a": "x/a.sh", "b": None, "c": {"rate_limit": 2, "retry": 5}}})
    assert document.scrapers["a"].script == "x/a.sh"
    assert not document.scrapers["b"].script
    assert document.scrapers["c"].rate == ScraperRate(2)
    assert document.scrapers["c"].retry.attempts == 5


def test_keys_without_meaning_are_listed() -> None:
    document = parse_scrapers({"global": {}, "scrapers": {"a": {"base_url": "x", "retry": {"jitter": True}}}})
    assert document.unused == ("global",)
    assert document.scrapers["a"].unused == ("base_url", "retry.jitter")


@pytest.mark.parametrize(
    "name, values, told",
    [
        ("../../etc/x", {}, "a name has a-z"),
        ("A", {}, "a name has a-z"),
        ("a" * 65, {}, "a name has a-z"),
        ("a", 3, "scrapers.a: must be a mapping"),
        ("a", {"timeout": 0}, "scrapers.a.timeout: must be a number above 0"),
        ("a", {"timeout": float("nan")}, "scrapers.a.timeout"),
        ("a", {"max_concurrent": True}, "scrapers.a.max_concurrent: must be a whole number"),
        ("a", {"retry": {"max_attempts": 11}}, "scrapers.a.retry.max_attempts: must be a whole number from 1 to 10"),
        ("a", {"rate_limit": {"requests_per_second": -1}}, "scrapers.a.rate_limit.requests_per_second"),
        ("a", {"limits": {"memory": 1}}, "scrapers.a.limits.memory: there is no such limit"),
        ("a", {"env": ["A=b"]}, "list names, not values"),
        ("a", {"records": "s3://x"}, "scrapers.a.records"),
        ("a", {"accepted_parameters": ["a b"]}, "is no name of a parameter"),
        ("a", {"accepted_parameters": {"x": {"typ": "int"}}}, "accepted_parameters.x.typ: there is no such rule"),
        ("a", {"accepted_parameters": {"x": {"pattern": "("}}}, "is no pattern"),
    ],
)
def test_problems_are_named_and_the_others_are_read(name: str, values: Any, told: str) -> None:
    document = parse_scrapers({"scrapers": {name: values, "good": {}}})
    assert len(document.problems) == 1
    assert told in document.problems[0]
    assert list(document.scrapers) == ["good"]


@pytest.mark.parametrize("document", [[], "x", {"scrapers": []}])
def test_a_document_of_another_shape_is_a_problem(document: object) -> None:
    assert len(parse_scrapers(document).problems) == 1


def test_an_empty_document_has_no_scrapers() -> None:
    assert parse_scrapers(None).scrapers == {} == parse_scrapers({}).scrapers
