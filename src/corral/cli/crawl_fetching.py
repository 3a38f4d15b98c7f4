"""Options of `corral crawl` that say how pages are fetched, and what is kept of them."""

from typing import Annotated

import typer

SaveFiles = Annotated[
    bool, typer.Option("--save-files", help="Keep PDFs and other files, each with a record that says where it is.")
]
OutLinks = Annotated[bool, typer.Option("--links", help="Say in each record where its page leads (outlinks).")]
