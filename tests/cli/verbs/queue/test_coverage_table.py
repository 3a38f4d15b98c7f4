"""The coverage on a terminal: a table, and a heat map of sources and periods."""

import io
from typing import Any

import pytest
from rich.console import Console

from corral.cli import render
from corral.cli.verbs.queue.coverage_table import join_periods, print_coverage, share_of, tone_of


def _period(name: str, expected: int, present: int, absent: int = 0) -> dict[str, Any]:
    counts = {"expected": expected, "present": present, "absent": absent, "gaps": expected - present - absent}
    return {"period": name, **counts, "completeness": 100 * present / (expected - absent)}


def _source(name: str, *periods: dict[str, Any]) -> dict[str, Any]:
    sums = {key: sum(period[key] for period in periods) for key in ("expected", "present", "gaps", "absent")}
    counts = {"by_type": {"missing": sums["gaps"]}, "waiting": 0, "stuck": 0, "tasks": 1}
    return {"source": name, **sums, **counts, "completeness": 50.0, "periods": list(periods)}


_REPORT = {
    "sources": [
        _source("games", _period("2023-24", 10, 10), _period("2024-25", 10, 3)),
        _source("players\x1b[2J", _period("2024-25", 4, 2, absent=2)),
        {"source": "broken", "problem": "cannot be read"},
    ]
}


def test_a_terminal_shows_a_heat_map_of_sources_and_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, width=80, force_terminal=True, color_system="standard")
    monkeypatch.setattr(render, "on_terminal", lambda: True)
    monkeypatch.setattr(render, "console", lambda: terminal)
    monkeypatch.setattr(render, "print_table", lambda *_, **__: None)
    print_coverage(_REPORT)
    shown = screen.getvalue()
    [games] = [line for line in shown.splitlines() if "games" in line]
    assert "100%" in games
    assert "\x1b[1;31m" in games.partition("100%")[2], "what is missing is red"
    [players] = [line for line in shown.splitlines() if "players" in line]
    assert "·" in players, "nothing is expected of the first season"
    assert "\x1b[2J" not in shown


def test_a_pipe_gets_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_coverage(_REPORT)
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[:3] for line in lines if line.startswith("games")]
    assert [row for row in rows if "-" in row[1]] == [
        ["games", "2023-24", "10"],
        ["games", "2024-25", "10"],
    ]


def test_periods_that_do_not_fit_are_joined_with_their_neighbours() -> None:
    assert join_periods(["1", "2", "3", "4", "5"], 2) == [["1", "2", "3"], ["4", "5"]]
    assert join_periods(["1", "2"], 9) == [["1"], ["2"]]
    assert share_of([_period("1", 10, 10), _period("2", 10, 0)]) == 50.0
    assert share_of([]) is None


@pytest.mark.parametrize("share, tone", [(100.0, "green"), (99.9, "yellow"), (94.9, "dark_orange"), (74.9, "red")])
def test_a_colour_says_how_much_is_there(share: float, tone: str) -> None:
    assert tone_of(share) == f"bold {tone}"
