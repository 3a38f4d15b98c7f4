"""Options of `corral crawl` that say how pages are fetched, and what is kept of them."""

from enum import StrEnum
from typing import Annotated

import typer


class CrawlStrategy(StrEnum):
    AUTO = "auto"
    HTTP = "http"
    BROWSER = "browser"


StrategyOption = Annotated[
    CrawlStrategy, typer.Option("--strategy", help="auto renders pages in a browser that are empty without scripts.")
]
BrowserPages = Annotated[
    int, typer.Option("--max-browser-pages", min=0, help="How many pages to render at most with --strategy auto.")
]
MaxScrolls = Annotated[
    int, typer.Option("--max-scrolls", min=0, help="How often to scroll a rendered page, or press its `load more`.")
]

SaveFiles = Annotated[
    bool, typer.Option("--save-files", help="Keep PDFs and other files, each with a record that says where it is.")
]
OutLinks = Annotated[bool, typer.Option("--links", help="Say in each record where its page leads (outlinks).")]
