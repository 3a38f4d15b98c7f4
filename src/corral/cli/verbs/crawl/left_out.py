"""Sentences about pages that a rule excluded from a crawl: the count, an example, and the option that includes them."""

from corral.domain.crawl.crawl import (
    EMPTY_LIST_PAGE,
    HASH_ROUTES,
    LINK_LIMIT,
    LIST_FAILURE,
    LIST_LIMIT,
    SCRIPTS,
    SCROLL_LIMIT,
    SHELL,
    VALUE_CUT,
)
from corral.domain.runs.run import Run

_DESCRIPTIONS = {
    LIST_LIMIT: ("of a list that goes on", "--max-pages and --max-items take more of it"),
    LIST_FAILURE: ("of a list whose further items the site failed to send", "start the run again later"),
    EMPTY_LIST_PAGE: ("of a list without any item on them", "--item-links selects the links to its items"),
    VALUE_CUT: ("with a value that was cut", "APP_MAX_VALUE_CHARS says how long a value may be"),
    SHELL: ("empty without their scripts", "--strategy auto renders them, up to --max-browser-pages"),
    SCRIPTS: (
        "whose scripts add content and were not run",
        "a browser (corral doctor) runs --max-browser-pages of them",
    ),
    HASH_ROUTES: ("with links to views inside the page (#/…)", "crawl the data behind them, or an address without #"),
    LINK_LIMIT: ("with more links than are followed from one page", "APP_MAX_PAGE_LINKS allows more"),
    SCROLL_LIMIT: ("longer than they were scrolled", "--max-scrolls allows more"),
}


def describe_left_out(run: Run) -> list[str]:
    examples = run.stats.get("left_out_examples") or {}
    lines = []
    for rule, count in (run.stats.get("left_out") or {}).items():
        if rule in _DESCRIPTIONS:
            what, option = _DESCRIPTIONS[rule]
            example = f" (such as {examples[rule]})" if rule in examples else ""
            lines.append(f"{count} page{'' if count == 1 else 's'} {what}{example}; {option}")
    empty = run.stats.get("empty_fields") or {}
    lines += [f"the field {name} is empty on {count} records" for name, count in empty.items()]
    return lines
