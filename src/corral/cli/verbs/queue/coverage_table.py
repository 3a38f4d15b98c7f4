"""Print a coverage report: a table, and a heat map of sources and periods on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from corral.cli import render
from corral.domain.coverage.compare import completeness_of

_COLUMNS = ("source", "expected", "present", "gaps", "why", "absent?", "waiting?", "stuck", "tasks", "complete")
_PERIOD_COLUMNS = ("source", "period", "expected", "present", "gaps", "absent", "complete")
# The minimum completeness of a cell for each colour.
_HEAT = ((100.0, "green"), (95.0, "yellow"), (75.0, "dark_orange"), (0.0, "red"))
_CELL = 6


def print_coverage(report: Mapping[str, Any]) -> None:
    sources = [source for source in report["sources"] if not source.get("problem")]
    render.print_table(_COLUMNS, [_row(source) for source in sources], nothing="no source could be read")
    if not any(len(source["periods"]) > 1 for source in sources):
        return
    print()
    if render.on_terminal():
        _print_heat_map(sources)
    else:
        rows = [(source["source"], *_period_row(period)) for source in sources for period in source["periods"]]
        render.print_table(_PERIOD_COLUMNS, rows)


def _row(source: Mapping[str, Any]) -> tuple[render.Cell, ...]:
    why = ", ".join(f"{count} {name}" for name, count in source["by_type"].items())
    counts = [source[name] for name in ("absent", "waiting", "stuck", "tasks")]
    complete = f"{source['completeness']:.1f}%"
    return (source["source"], source["expected"], source["present"], source["gaps"], why, *counts, complete)


def _period_row(period: Mapping[str, Any]) -> tuple[render.Cell, ...]:
    counts = [period[name] for name in ("period", "expected", "present", "gaps", "absent")]
    return (*counts, f"{period['completeness']:.1f}%")


def _print_heat_map(sources: Sequence[Mapping[str, Any]]) -> None:
    """Print a row per source and a column per period. Periods that do not fit are joined with their neighbours."""
    from rich.table import Table  # noqa: PLC0415 - on a terminal only
    from rich.text import Text  # noqa: PLC0415

    terminal = render.console()
    names = sorted({period["period"] for source in sources for period in source["periods"]})
    room = max(1, (terminal.width - max(len(source["source"]) for source in sources) - 2) // (_CELL + 2))
    columns = join_periods(names, room)
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("coverage", no_wrap=True)
    for column in columns:
        table.add_column(_title(column), justify="right", no_wrap=True, overflow="crop")
    for source in sources:
        by_name = {period["period"]: period for period in source["periods"]}
        shares = [share_of([by_name[name] for name in column if name in by_name]) for column in columns]
        cells = [
            Text("·", "bright_black") if share is None else Text(_percent(share), tone_of(share)) for share in shares
        ]
        table.add_row(render.printable(source["source"]), *cells)
    terminal.print(table)


def join_periods(names: Sequence[str], room: int) -> list[list[str]]:
    """Divide the periods into at most `room` columns of neighbours."""
    size = -(-len(names) // room)
    return [list(names[start : start + size]) for start in range(0, len(names), size)]


def share_of(periods: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the completeness of several periods together; None without periods."""
    expected = sum(period["expected"] - period["absent"] for period in periods)
    present = sum(period["present"] for period in periods)
    return completeness_of(present, expected) if periods else None


def tone_of(share: float | None) -> str:
    if share is None:
        return "bright_black"
    return f"bold {next(tone for least, tone in _HEAT if share >= least)}"


def _title(names: Sequence[str]) -> str:
    return render.printable(names[0] if len(names) == 1 else f"{names[0]}…")[:8]


def _percent(share: float | None) -> str:
    if share is None:
        return "·"
    return f"{share:.0f}%" if share in {0.0, 100.0} else f"{share:.1f}%"
