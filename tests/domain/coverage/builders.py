"""Sources for the tests of coverage."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import yaml

from corral.domain.coverage.absence import Absence
from corral.domain.coverage.compare import Comparison, Coverage
from corral.domain.coverage.condition import Moment, rank_gap
from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.coverage.expand import expand_keys
from corral.domain.coverage.gap import Entry, RankedGap
from corral.domain.coverage.spec import ListedKeys, ProductKeys, SourceSpec

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)

BOX_SCORES = """
sources:
  box_scores:
    scraper: nba_api_scraper
    parameters: {data_type: box_scores}
    expected:
      dimensions:
        season: {seasons: {from: 2024-25, to: current, starts: 10-01}}
        game_id: {range: {from: 1, to: 20, pad: 4}}
    inventory:
      folder: {path: data, pattern: "{season}/{game_id}.json"}
    batch: {size: 5, of: game_id, as: game_ids}
"""


def source_of(text: str = BOX_SCORES, **changes: Any) -> SourceSpec:
    document = yaml.safe_load(text)
    [values] = document["sources"].values()
    values.update(changes)
    [source] = parse_inventory(document)
    return source


def moment_of(source: SourceSpec, now: datetime = NOW) -> Moment:
    return Moment(now.timestamp(), now.date(), source.season_calendar.year_of(now.date()))


def list_expected(source: SourceSpec, now: datetime = NOW) -> list[tuple[str | int, ...]]:
    [keys] = source.expected
    assert isinstance(keys, ProductKeys | ListedKeys)
    return list(expand_keys(keys, source.names, now.date()))


def compare(
    source: SourceSpec, entries: Iterable[Entry], absences: Iterable[Absence] = (), now: datetime = NOW
) -> Coverage:
    comparison = Comparison(source, moment_of(source, now), absences)
    comparison.add(entries)
    return comparison.finish(list_expected(source, now))


def rank(source: SourceSpec, coverage: Coverage, now: datetime = NOW) -> list[RankedGap]:
    moment, share = moment_of(source, now), coverage.total().completeness
    return [
        rank_gap(gap, dict(zip(source.names, map(str, gap.values), strict=True)), source.priorities, moment, share)
        for gap in coverage.gaps
    ]
