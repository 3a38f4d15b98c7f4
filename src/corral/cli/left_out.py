"""What a rule of ours left out of a crawl, in words: how many pages, one of them, and the option that takes them."""

from corral.domain.crawl import SCROLL_LIMIT, SHELL
from corral.domain.run import Run

_SAID = {
    SHELL: ("empty without their scripts", "--strategy auto renders them, up to --max-browser-pages"),
    SCROLL_LIMIT: ("longer than they were scrolled", "--max-scrolls allows more"),
}


def left_out_lines(run: Run) -> list[str]:
    examples = run.stats.get("left_out_examples") or {}
    lines = []
    for rule, count in (run.stats.get("left_out") or {}).items():
        if rule in _SAID:
            what, option = _SAID[rule]
            example = f" (such as {examples[rule]})" if rule in examples else ""
            lines.append(f"{count} page{'' if count == 1 else 's'} {what}{example}; {option}")
    return lines
