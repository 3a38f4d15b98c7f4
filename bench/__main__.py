"""`python -m bench [NAME ...] [--quick] [--only ENTRY] [--repeat N] [--save] [--json]`: Corral beside its peers."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import asdict
from types import FrameType

from rich.console import Console

from bench import machine, registry, report
from bench.model import Bench, Entry, Outcome
from bench.runner import available, fastest, run_entry

PIPED_WIDTH = 160


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Compare Corral with its peers.")
    parser.add_argument("benches", nargs="*", metavar="NAME", help=f"one of: {', '.join(registry.MODULES)}")
    parser.add_argument("--quick", action="store_true", help="less work per entry: a smoke test, not a result")
    parser.add_argument("--only", action="append", metavar="ENTRY", help="entries whose name starts so; repeatable")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="measure in N rounds and keep the fastest of each"
    )
    parser.add_argument("--save", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each benchmark, and no table")
    parsed = parser.parse_args(argv)
    unknown = set(parsed.benches) - set(registry.MODULES)
    if unknown:
        parser.error(f"unknown benchmark: {', '.join(sorted(unknown))}")
    if parsed.repeat < 1:
        parser.error("--repeat must be at least 1")
    if parsed.save and (parsed.quick or parsed.only):
        parser.error("--save keeps whole results only: not with --quick or --only")
    return parsed


def _run(bench: Bench, arguments: argparse.Namespace, console: Console) -> list[Outcome]:
    """In rounds: a machine that is slow for a minute is slow for all of them, or for one of several tries."""
    entries = [entry for entry in bench.entries if _is_asked_for(entry, arguments.only, console)]
    found: dict[str, list[Outcome]] = {entry.name: [] for entry in entries}
    for number in range(arguments.repeat):
        for entry in entries:
            with console.status(f"{bench.name}: {entry.name}"):
                outcome = run_entry(entry, quick=arguments.quick, has_extras=number == 0)
            found[entry.name].append(outcome)
            result = outcome.result
            said = f"{report.number(result.rate_per_s)} {bench.unit}" if result else f"failed: {outcome.error}"
            console.print(f"{entry.name}: {said}", highlight=False, markup=False)
    return [fastest(outcomes) for outcomes in found.values()]


def _is_asked_for(entry: Entry, prefixes: list[str] | None, console: Console) -> bool:
    if prefixes and not any(entry.name.startswith(prefix) for prefix in prefixes):
        return False
    if not available(entry):
        console.print(f"{entry.name}: skipped, no module {entry.target.partition(':')[0]}", style="yellow")
        return False
    return True


def _told(bench: Bench, outcomes: list[Outcome], facts: dict[str, str]) -> dict[str, object]:
    rows = [
        {
            "name": each.entry.name,
            "role": each.entry.role,
            "result": None if each.result is None else asdict(each.result),
            "error": each.error or None,
        }
        for each in outcomes
    ]
    return {"bench": bench.name, "unit": bench.unit, "machine": facts, "entries": rows}


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """Leave through the `finally` blocks, so that services stop."""
    sys.exit(143)


def main(argv: list[str] | None = None) -> int:
    """Run, print, and save when asked. Fails when an entry failed."""
    arguments = _arguments(argv)
    signal.signal(signal.SIGTERM, _terminate)
    console = Console(stderr=arguments.json)
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    failed = False
    for name in arguments.benches or list(registry.MODULES):
        bench = registry.load(name)
        outcomes = _run(bench, arguments, console)
        facts = machine.facts()
        if arguments.repeat > 1:
            facts["Rounds"] = f"{arguments.repeat}, of each entry the fastest"
        if arguments.json:
            print(json.dumps(_told(bench, outcomes, facts)), flush=True)
        else:
            report.show(console, bench, outcomes, facts)
        failed = failed or not outcomes or any(outcome.result is None for outcome in outcomes)
        if arguments.save:
            report.save(bench, outcomes, facts)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
