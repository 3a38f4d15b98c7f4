"""`corral crawl pages`: the pages of a crawl in one state, and why they are in it."""

from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.crawl.crawl import ItemState
from corral.domain.errors import BadInput
from corral.settings import Settings, load_settings
from corral.views.crawl_pages import page_shape

_BATCH = 500
STATES = ("failed", "skipped", "missing", "deferred", "done", "pending")

StateName = Annotated[str, typer.Option("--state", metavar="STATE", help=f"One of {', '.join(STATES)}.")]
MaxPages = Annotated[int | None, typer.Option("--limit", min=1, help="Print this many at most.")]


def crawl_pages(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a crawl.")],
    state: StateName = "failed",
    limit: MaxPages = None,
    as_json: AsJson = False,
) -> None:
    """List the pages of a crawl in one state, with the reason.

    Pages are listed in the order of discovery. `missing` pages are dead links (404, 410); `deferred` pages were
    held back by trap detection.

    \b
    corral crawl pages 0198c7f2-6d5a-7cc1-9f1e-3a5b8c2d4e6f --state failed
    corral crawl pages 0198c7f2-6d5a-7cc1-9f1e-3a5b8c2d4e6f --state missing --json | jq -r '.[].url'
    """

    if state not in STATES:
        raise BadInput(f"{state!r} is not a state of a page", field="state", hint=f"use one of {', '.join(STATES)}")
    finish(_list(load_settings(), check_id(run_id, "run"), state, limit, as_json=as_json))


async def _list(settings: Settings, run_id: str, state: str, limit: int | None, *, as_json: bool) -> int:

    pages: list[dict[str, Any]] = []
    after = 0
    async with read_store(settings) as store:
        await store.crawls.get(run_id)  # raises if there is no such crawl
        while limit is None or len(pages) < limit:
            size = _BATCH if limit is None else min(_BATCH, limit - len(pages))
            batch = await store.crawls.items(run_id, ItemState(state), after, size)
            if not batch:
                break
            after = batch[-1].id
            pages += [page_shape(each) for each in batch]
    if as_json:
        render.print_json(pages)
    elif pages:
        rows = [
            (render.printable(page["url"]), page["reason"] or "", render.printable(page["message"] or ""))
            for page in pages
        ]
        render.print_table(("url", "reason", "message"), rows)
    else:
        print(f"no page of run {run_id} is {state}")
    return exits.DONE
