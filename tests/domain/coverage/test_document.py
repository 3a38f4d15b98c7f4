"""The data inventory document: what it can say, and every problem of it at once."""

from datetime import date
from typing import Any

import pytest
import yaml

from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.coverage.expand import expand_keys
from corral.domain.coverage.spec import ProductKeys, SourceSpec
from corral.domain.errors import BadConfiguration
from tests.domain.coverage.builders import BOX_SCORES, list_expected, source_of

_TODAY = date(2026, 11, 16)


def _values(value: Any) -> list[str | int]:
    source = source_of(
        expected={"dimensions": {"x": value}}, inventory={"folder": {"path": "d", "pattern": "{x}"}}, batch=1
    )
    [keys] = source.expected
    assert isinstance(keys, ProductKeys)
    return [values[0] for values in expand_keys(keys, source.names, _TODAY)]


@pytest.mark.parametrize(
    "given, found",
    [
        (["a", "b", "a", 7], ["a", "b", 7]),
        ({"range": {"from": 1, "to": 3}}, [1, 2, 3]),
        ({"range": {"from": 10, "to": 4, "step": -3}}, [10, 7, 4]),
        ({"range": {"from": 8, "to": 12, "step": 2, "pad": 3, "prefix": "g"}}, ["g008", "g010", "g012"]),
        ({"days": {"from": "2024-02-28", "to": "2024-03-01"}}, ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ({"days": {"from": "today-1d", "format": "%Y%m%d"}}, ["20261115", "20261116"]),
        (
            {"days": {"from": "2024-12-23", "to": "2024-12-28", "exclude": ["2024-12-24..2024-12-26"]}},
            ["2024-12-23", "2024-12-27", "2024-12-28"],
        ),
        (
            {"days": {"from": "2026-11-09", "to": "2026-11-15", "weekdays": ["sat", "sun"]}},
            ["2026-11-14", "2026-11-15"],
        ),
        ({"weeks": {"from": "2024-12-30", "to": "2025-01-06"}}, ["2025-W01", "2025-W02"]),
        ({"months": {"from": "2024-11-15", "to": "2025-02-01"}}, ["2024-11", "2024-12", "2025-01", "2025-02"]),
        ({"years": {"from": "2023-05-01", "to": "2024-01-01"}}, ["2023", "2024"]),
        ({"seasons": {"from": "1998-99", "to": "2000-01"}}, ["1998-99", "1999-00", "2000-01"]),
        ({"seasons": {"from": "2024-25", "starts": "12-01"}}, ["2024-25", "2025-26"]),
        ({"seasons": {"from": "2025/2026", "exclude": ["2025/2026"]}}, ["2026/2027"]),
        ({"seasons": {"from": 2025}}, ["2025", "2026"]),
    ],
)
def test_values_of_a_dimension(given: Any, found: list[str | int]) -> None:
    assert _values(given) == found


def test_keys_are_the_product_of_the_dimensions() -> None:
    source = source_of()
    keys = [source.key.writer(source.names).write(values) for values in list_expected(source)]
    assert len(keys) == 60
    assert keys[0] == "2024-25/0001"
    assert keys[-1] == "2026-27/0020"


def test_a_source_may_take_the_keys_of_another_one_with_its_dimensions() -> None:
    document = yaml.safe_load(BOX_SCORES)
    document["sources"]["summaries"] = {
        "scraper": "summaries",
        "expected": {"source": "box_scores"},
        "inventory": {"folder": {"path": "s", "pattern": "{game_id}-{season}.txt"}},
        "batch": 3,
    }
    boxes, summaries = parse_inventory(document)
    assert summaries.expected == boxes.expected
    assert (summaries.names, summaries.season) == (boxes.names, boxes.season)
    assert (summaries.batch.of, summaries.batch.parameter) == ("game_id", "game_ids")


def _problems(text: str) -> list[str]:
    with pytest.raises(BadConfiguration) as refused:
        parse_inventory(yaml.safe_load(text), "inventory.yaml")
    return [problem.removeprefix("inventory.yaml: ") for problem in refused.value.problems]


def test_every_problem_is_named_with_its_path() -> None:
    problems = _problems("""
sources:
  a:
    scrapper: x
    expected: {dimensions: {season: {seasons: {from: 2024-99}}, n: {range: {from: 1}}, source: [1]}}
    inventory: {folder: {path: d, pattern: "{season}.json"}}
    rules: {fresh: 24, format: exe, min_bytes: -1}
    batch: {size: 5, of: nothing}
    priority: [{when: {within_days: soon}, is: urgent}]
    absence: {confirmations: 0, recheck_after: never}
  b:
    scraper: x
    expected: [{keys: [1, 2]}, {source: a, keys: [1]}]
    inventory: {}
""")
    text = "\n".join(problems)
    for said in (
        "sources.a.scrapper: unknown name; did you mean scraper?",
        "sources.a.scraper: is missing",
        "sources.a.expected.dimensions.season.seasons.from: '2024-99' is no season",
        "sources.a.expected.dimensions.n.range.to: is missing",
        "sources.a.expected.dimensions.source: is reserved",
        "sources.a.inventory: does not say the dimension n, source",
        "sources.a.rules.fresh[0]: expected a mapping, found 24",
        "sources.a.rules.format: 'exe' is not one of any, json",
        "sources.a.rules.min_bytes: -1 is not between",
        "sources.a.batch.of: 'nothing' is no dimension",
        "sources.a.priority[0].when.within_days: expected a number of days",
        "sources.a.priority[0].is: 'urgent' is not one of critical, high, medium, low",
        "sources.a.absence.confirmations: 0 is not between",
        "sources.a.absence.recheck_after: expected a span of time",
        "sources.b.expected[1]: name exactly one of",
        "sources.b.inventory: name exactly one of folder, s3, records, sql",
    ):
        assert said in text, said


@pytest.mark.parametrize("document", ["", "[]", "sources: {}", "sources: 7", "other: 1"])
def test_a_document_without_sources_is_refused(document: str) -> None:
    assert _problems(document)


def test_sources_in_a_circle_are_refused() -> None:
    template = (
        "{name}: {{scraper: x, expected: {{source: {other}}}, inventory: {{folder: {{path: d, pattern: '{{n}}'}}}}}}"
    )
    lines = [template.format(name="a", other="b"), template.format(name="b", other="a")]
    assert any("is a circle" in each for each in _problems("sources:\n  " + "\n  ".join(lines)))


@pytest.mark.parametrize(
    "inventory, rules, refused",
    [
        ({"records": {"job": "j", "fields": {"n": "n"}}}, {"format": "json"}, "rules.format"),
        ({"records": {"job": "j", "fields": {"n": "n"}}}, {"min_bytes": 9}, "rules.min_bytes"),
        ({"sql": {"url": "sqlite:///x", "query": "q", "columns": ["n"]}}, {"fresh": "1h"}, "rules.fresh"),
        ({"sql": {"url": "sqlite:///x", "query": "q", "columns": ["n"]}}, {"manifest": "m"}, "rules.manifest"),
        ({"s3": {"bucket": "b", "pattern": "{n}"}}, {"format": "json"}, "rules.format"),
    ],
)
def test_a_rule_that_the_inventory_cannot_apply_is_refused(
    inventory: dict[str, Any], rules: dict[str, Any], refused: str
) -> None:
    """An option that is accepted and ignored would be worse."""
    expected = {"dimensions": {"n": [1]}}
    with pytest.raises(BadConfiguration, match=refused):
        source_of(expected=expected, inventory=inventory, rules=rules, batch=1)


def test_a_secret_is_not_written_into_the_file() -> None:
    inventory = {"s3": {"bucket": "b", "pattern": "{season}/{game_id}", "secret_key": "hunter2"}}
    with pytest.raises(BadConfiguration, match="name a variable of the environment"):
        source_of(inventory=inventory)


def test_the_season_and_the_date_of_a_key_are_found() -> None:
    def dimensions(source: SourceSpec) -> tuple[str, str]:
        return source.season, source.date

    pattern = {"folder": {"path": "d", "pattern": "{a}/{b}"}}
    values = {"a": {"seasons": {"from": "2024-25"}}, "b": {"days": {"from": "2026-11-01"}}}
    assert dimensions(source_of(expected={"dimensions": values}, inventory=pattern, batch=1)) == ("a", "b")
    plain = {"a": ["2024-25"], "b": ["x"]}
    source = source_of(expected={"dimensions": plain}, inventory=pattern, batch=1, season={"dimension": "a"})
    assert dimensions(source) == ("a", "")
