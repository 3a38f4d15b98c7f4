"""Tables for the terminal, and the same in Markdown for `RESULTS.md`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.model import Bench, Outcome, Result

RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
HEADING = "# Benchmark results\n\nWritten by `make bench`: each section is the last saved run of that benchmark.\n"
NONE = "—"
ERROR_WIDTH = 300


@dataclass(frozen=True)
class Grid:
    """A table before it is drawn."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: frozenset[str]


def number(value: float | None) -> str:
    """Three significant digits and thousands separators: enough to compare, no false precision."""
    if value is None:
        return NONE
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """`12.3 ×`."""
    return NONE if value is None else f"{number(value)} ×"


def corral_of(outcomes: list[Outcome]) -> Result | None:
    """Corral's own result, when it was measured."""
    return next((outcome.result for outcome in outcomes if outcome.entry.role == "corral"), None)


def best_peer(outcomes: list[Outcome]) -> Outcome | None:
    """The fastest of the others."""
    peers = [outcome for outcome in outcomes if outcome.entry.role == "peer" and outcome.result]
    return max(peers, key=lambda outcome: outcome.result.rate_per_s if outcome.result else 0.0, default=None)


def rates(bench: Bench, outcomes: list[Outcome]) -> Grid:
    """The main figure of every row and how Corral compares with it."""
    corral, best = corral_of(outcomes), best_peer(outcomes)
    ordered = sorted(outcomes, key=lambda outcome: -(outcome.result.rate_per_s if outcome.result else 0.0))
    rows = []
    for outcome in ordered:
        result = outcome.result
        if result is None:
            reason = (outcome.error.splitlines() or [""])[-1][:ERROR_WIDTH]
            rows.append((outcome.entry.name, "failed", NONE, NONE, NONE, NONE, reason))
            continue
        to_this = corral.rate_per_s / result.rate_per_s if corral and outcome.entry.role != "corral" else None
        to_best = result.rate_per_s / best.result.rate_per_s if best and best.result else None
        cells = (number(result.rate_per_s), ratio(to_best), ratio(to_this), f"{result.count:,}")
        rows.append((outcome.entry.name, *cells, f"{result.seconds:.1f}", result.notes))
    columns = ("", bench.unit, "to best peer", "Corral to it", "count", "seconds", "configuration")
    return Grid(bench.title, columns, tuple(rows), frozenset({"", "configuration"}))


def side_figures(bench: Bench, outcomes: list[Outcome]) -> Grid | None:
    """The other figures, a column for each row of the first table, and Corral against the best of them."""
    measured = [outcome for outcome in outcomes if outcome.result and outcome.entry.role != "history"]
    if not bench.metrics or not measured:
        return None
    corral = corral_of(outcomes)
    rows = []
    for metric in bench.metrics:
        values = [outcome.result.metrics.get(metric.key) if outcome.result else None for outcome in measured]
        own = corral.metrics.get(metric.key) if corral else None
        others = [
            value
            for outcome, value in zip(measured, values, strict=True)
            if outcome.entry.role == "peer" and value is not None
        ]
        better = None
        if own and others:
            better = own / max(others) if metric.higher_is_better else min(others) / own
        rows.append((metric.title, *(number(value) for value in values), ratio(better)))
    columns = ("", *(outcome.entry.name for outcome in measured), "Corral better by")
    return Grid(f"{bench.title}: other figures", columns, tuple(rows), frozenset({""}))


def verdicts(bench: Bench, outcomes: list[Outcome]) -> list[str]:
    """The sentences that answer the aims: ratio to the best peer, and cost against history."""
    corral, best = corral_of(outcomes), best_peer(outcomes)
    lines = []
    if best and best.result:
        lines.append(f"Best peer: {best.entry.name}, {number(best.result.rate_per_s)} {bench.unit}.")
    if corral and best and best.result and bench.aim is not None:
        reached = corral.rate_per_s / best.result.rate_per_s
        met = "met" if reached >= bench.aim else "NOT met"
        lines.append(f"Corral / best peer: {ratio(reached)} (aim {bench.aim:g} ×: {met}).")
    for outcome in outcomes:
        if outcome.entry.role == "history" and outcome.result and corral:
            change = outcome.result.rate_per_s / corral.rate_per_s - 1
            met = "met" if change >= -bench.history_tolerance else "NOT met"
            aim = f"within {bench.history_tolerance:.0%}: {met}"
            lines.append(f"{outcome.entry.name}: {change:+.1%} against an empty database ({aim}).")
    return lines


def grids(bench: Bench, outcomes: list[Outcome]) -> list[Grid]:
    """All tables of one benchmark."""
    return [grid for grid in (rates(bench, outcomes), side_figures(bench, outcomes)) if grid is not None]


def show(console: Console, bench: Bench, outcomes: list[Outcome], facts: dict[str, str]) -> None:
    """Print everything."""
    for grid in grids(bench, outcomes):
        table = Table(title=grid.title, title_justify="left")
        for column in grid.columns:
            text = column in grid.text_columns
            table.add_column(escape(column), justify="left" if text else "right", no_wrap=column == "")
        for row in grid.rows:
            table.add_row(*(escape(cell) for cell in row))
        console.print(table)
    for line in verdicts(bench, outcomes):
        console.print(line, highlight=False, markup=False)
    console.print(" · ".join(f"{key} {value}" for key, value in facts.items()), style="dim", markup=False)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _markdown(grid: Grid) -> str:
    lines = [f"**{grid.title}**", ""]
    lines.append("| " + " | ".join(_cell(column) for column in grid.columns) + " |")
    lines.append("|" + "|".join(":--" if column in grid.text_columns else "--:" for column in grid.columns) + "|")
    lines.extend("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in grid.rows)
    return "\n".join(lines)


def section(bench: Bench, outcomes: list[Outcome], facts: dict[str, str]) -> str:
    """One `##` section: what it ran on, the tables, the verdicts."""
    about = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    parts = [f"## {bench.name}", about, *(_markdown(grid) for grid in grids(bench, outcomes))]
    answers = verdicts(bench, outcomes)
    if answers:
        parts.append("\n".join(f"- {line}" for line in answers))
    return "\n\n".join(parts) + "\n"


def save(bench: Bench, outcomes: list[Outcome], facts: dict[str, str], path: Path = RESULTS) -> None:
    """Replace this benchmark's section and leave the others as they are."""
    old = path.read_text() if path.exists() else HEADING
    new = section(bench, outcomes, facts)
    pattern = re.compile(rf"^## {re.escape(bench.name)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(old):
        text = pattern.sub(lambda match: new + ("\n" if match.end() < len(old) else ""), old, count=1)
    else:
        text = old.rstrip("\n") + "\n\n" + new
    path.write_text(text)
