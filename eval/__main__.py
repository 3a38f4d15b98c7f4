"""`python -m eval [--group tuning|held_out] [--misses N] [--json]`: precision and recall of bare names."""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable

from eval.pages import GROUPS, load_pages
from eval.score import Figures, Judgement, count, judge_pages

MIN_PRECISION = 0.97
MIN_RECALL = 0.95
_MAX_SHOWN_CHARS = 70


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m eval", description="Precision and recall of bare names.")
    parser.add_argument("--group", choices=GROUPS, action="append", help="only this group of pages")
    parser.add_argument("--misses", type=int, default=1000, metavar="N", help="list at most N misses")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead of tables")
    options = parser.parse_args(argv)
    groups = tuple(options.group or GROUPS)
    judgements = list(judge_pages(load_pages(groups)))
    figures = {group: count(each for each in judgements if each.page.group == group) for group in groups}
    every = count(judgements)
    if options.json:
        rows = {**figures, "all": every}
        print(json.dumps({name: [round(row.precision, 4), round(row.recall, 4)] for name, row in rows.items()}))
    else:
        _print_tables(judgements, figures, every, options.misses)
    return 0 if every.precision >= MIN_PRECISION and every.recall >= MIN_RECALL else 1


def _print_tables(judgements: list[Judgement], groups: dict[str, Figures], every: Figures, misses: int) -> None:
    pages = len({each.page.name for each in judgements})
    _print_rows("group", {**groups, f"all ({pages} pages)": every})
    _print_rows("kind", _by(judgements, lambda each: each.page.kind))
    _print_rows("name", _by(judgements, lambda each: each.name))
    wrong = [each for each in judgements if each.is_false or each.is_missed]
    print(f"\n{len(wrong)} misses")
    for each in wrong[:misses]:
        where = f"{each.page.group}/{each.page.name} {each.name}"
        print(f"  {where}: expected {_cut(each.expected)}, found {_cut(each.found)}")
        if each.source:
            print(f"      from {each.source} ({each.confidence})")


def _by(judgements: list[Judgement], key: Callable[[Judgement], str]) -> dict[str, Figures]:
    parts: dict[str, list[Judgement]] = defaultdict(list)
    for each in judgements:
        parts[key(each)].append(each)
    return {name: count(part) for name, part in sorted(parts.items())}


def _print_rows(title: str, rows: dict[str, Figures]) -> None:
    print(f"\n{title:24}{'values':>8}{'precision':>11}{'recall':>9}")
    for name, row in rows.items():
        print(f"{name:24}{row.right + row.missed:8}{row.precision:11.3f}{row.recall:9.3f}")


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


if __name__ == "__main__":
    sys.exit(main())
