"""`corral why`: the state of a URL in a crawl, and the chain of links to it."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.crawl.item import StoredItem, short_key
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.net.canonical import url_key
from corral.domain.net.url import Target, parse_target
from corral.domain.redaction import redact_result_url
from corral.domain.runs.run import Run
from corral.settings import Settings, load_settings
from corral.store.queries.crawl.crawls import CrawlNow
from corral.store.store import Store
from corral.views.crawl_pages import explain_state, page_shape

_CRAWLS = 200


def why(
    url: Annotated[str, typer.Argument(metavar="URL", help="A URL that a crawl may have seen.")],
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only this crawl (default: the newest that saw the URL).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain the state of a URL in a crawl.

    The state is done, failed (with the error), skipped (with the rule), or pending (with the reason). The chain of
    links from the start page to the URL follows. Exit code: 0 if the crawl has seen the URL, 1 if not.

    \b
    corral why https://example.com/blog/some-page
    corral why https://example.com/blog/some-page --json | jq -r '.item.reason'
    """

    checked = None if run_id is None else check_id(run_id, "run")
    finish(_why(load_settings(), url, checked, as_json=as_json))


async def _why(settings: Settings, url: str, run_id: str | None, *, as_json: bool) -> int:

    target = parse_target(url)
    async with read_store(settings) as store:
        match = await _find(store, target, run_id)
    if match is None:
        where = f"run {run_id}" if run_id else "any crawl"
        exits.complain(f"{url} was not seen by {where}", "`corral crawl URL` starts one; a larger --depth sees more")
        return exits.FAILED
    run, now, chain = match
    if as_json:
        about = {"run_id": run.id, "item": page_shape(chain[0]), "because": explain_state(run, now, chain[0])}
        render.print_json({**about, "way": [page_shape(each) for each in chain[1:]]})
        return exits.DONE
    print(f"{chain[0].state}: {render.printable(explain_state(run, now, chain[0]))}")
    address = render.printable(redact_result_url(chain[0].url))
    print(f"  {address} (depth {chain[0].depth}, attempt {chain[0].attempt}, run {run.id})")
    for item in chain[1:]:
        print(f"  found on {render.printable(redact_result_url(item.url))} (depth {item.depth}, {item.state})")
    return exits.DONE


async def _find(store: Store, target: Target, run_id: str | None) -> tuple[Run, CrawlNow, list[StoredItem]] | None:

    for run, now in await store.crawls.newest(None, _CRAWLS):
        params = run.payload.read(CrawlPayload).counting_params
        if run_id in (None, run.id) and (
            chain := await store.crawls.path_to(run.id, short_key(url_key(target, params)))
        ):
            return run, now, chain
    return None
