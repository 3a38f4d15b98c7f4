"""`corral proxy list`, `import`, `export` and `rm`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, Limit
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.errors import BadInput
from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.listing import parse_list
from corral.domain.proxies.pooled import ProxyState
from corral.settings import Settings, load_settings
from corral.views.proxies import pool_view, proxy_view
from corral.wiring.proxies.live_file import LIVE_FILE, export_proxies, load_usable
from corral.wiring.roles import open_client

StateOption = Annotated[ProxyState | None, typer.Option("--state", help="Only proxies in this state.")]
_LIVE_PATH = Path(LIVE_FILE)


def list_(state: StateOption = None, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the proxies of the pool, newest first.

    Credentials are not shown.

    \b
    corral proxy list --state alive
    """
    finish(_list(load_settings(), state, limit, as_json=as_json))


async def _list(settings: Settings, state: ProxyState | None, limit: int, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        proxies, counts = await store.proxies.page(state, None, limit), await store.proxies.count()
    if as_json:
        render.print_json([proxy_view(each) for each in proxies])
        return exits.DONE
    rows = [
        (
            each.id, each.policy.redacted, each.state.value, f"{each.score:.0f}", each.latency_ms,
            each.anonymity.value, each.tier.value, each.problem or "",
        )
        for each in proxies
    ]  # fmt: skip
    columns = ("id", "address", "state", "score", "ms", "anonymity?", "tier?", "problem…")
    render.print_table(columns, rows, nothing="no proxies; `corral proxy import FILE` adds some")
    pool = pool_view(counts, settings.min_proxies_for_scraping)
    print(f"{pool['usable']} usable of {pool['total']}", file=sys.stderr)
    return exits.DONE


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The list; - reads standard input.")],
    scheme: Annotated[str, typer.Option("--scheme", help="Of entries that name none: http, https, socks5.")] = "http",
    tier: Annotated[Tier, typer.Option("--tier", help="datacentre or residential.")] = Tier.DATACENTRE,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add the proxies of a list to the pool: one a line, or JSON.

    They are used after a check (`corral proxy check`). Exit code 3 if entries were malformed.

    \b
    corral proxy import proxies.txt
    corral proxy import live_proxies.json --tier residential
    """
    if tier is Tier.DIRECT:
        raise BadInput("a proxy is not direct", field="tier", hint="datacentre or residential")
    text = _read(file)
    if dry_run:
        parsed = parse_list(text, scheme=scheme, tier=tier)
        about = {"proxies": len(parsed.proxies), "malformed": parsed.malformed_count}
        render.print_plan(f"import {len(parsed.proxies)} proxies", about, as_json=as_json)
        raise typer.Exit(exits.PARTIAL if parsed.malformed_count else exits.DONE)
    finish(_import(load_settings(), text, file.name, scheme, tier, as_json=as_json))


async def _import(settings: Settings, text: str, name: str, scheme: str, tier: Tier, *, as_json: bool) -> int:
    async with open_client(settings) as app:
        report = await app.proxies.add(text, name, scheme=scheme, tier=tier)
    if as_json:
        render.print_json(report.document())
    else:
        print(f"{report.imported} imported, {report.updated} updated, {report.unchanged} unchanged")
        for entry in report.malformed:
            exits.complain(f"{entry.where}: {entry.reason}")
        if report.malformed_count > len(report.malformed):
            exits.complain(f"{report.malformed_count - len(report.malformed)} more entries are malformed")
    return exits.PARTIAL if report.malformed_count else exits.DONE


def _read(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text("utf-8", "replace")
    except OSError as error:
        raise BadInput(f"{file} cannot be read ({error.strerror})", field="file") from None


def export(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = Path(
        LIVE_FILE
    ),
    with_credentials: Annotated[
        bool, typer.Option("--with-credentials", help="Include users and passwords; the file is private to you.")
    ] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write the usable proxies to a JSON file, best first. The file is replaced as a whole.

    Proxies with a user and password are left out without --with-credentials; then the exit code is 3.

    \b
    corral proxy export -o live_proxies.json
    """
    finish(_export(load_settings(), output, with_credentials=with_credentials, dry_run=dry_run, as_json=as_json))


async def _export(settings: Settings, output: Path, *, with_credentials: bool, dry_run: bool, as_json: bool) -> int:
    async with read_store(settings) as store:
        usable = await load_usable(store)
    written = sum(1 for each in usable if with_credentials or each.sealed is None)
    left_out = len(usable) - written
    about = {"file": str(output), "proxies": written, "left_out": left_out}
    if dry_run:
        render.print_plan(f"write {written} proxies to {output}", about, as_json=as_json)
        return exits.DONE
    try:
        export_proxies(settings, usable, output, with_credentials=with_credentials)
    except OSError as error:
        raise BadInput(f"{output} cannot be written ({error.strerror})", field="output") from None
    if as_json:
        render.print_json(about)
    else:
        print(f"{written} proxies written to {output}")
    if left_out:
        exits.complain(f"{left_out} proxies with credentials were left out", "use --with-credentials")
    return exits.PARTIAL if left_out else exits.DONE


def rm(
    proxy_id: Annotated[int | None, typer.Argument(metavar="ID", help="The id of a proxy.")] = None,
    state: StateOption = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Remove a proxy from the pool, or all in one state.

    \b
    corral proxy rm 17
    corral proxy rm --state dead
    """
    if (proxy_id is None) == (state is None):
        raise BadInput("name the id of a proxy, or --state", field="proxy")
    finish(_rm(load_settings(), proxy_id, state, dry_run=dry_run, as_json=as_json))


async def _rm(
    settings: Settings, proxy_id: int | None, state: ProxyState | None, *, dry_run: bool, as_json: bool
) -> int:
    async with read_store(settings) as reading:
        if state is not None:
            count = (await reading.proxies.count())[state.value]
        else:
            assert proxy_id is not None
            count = len([await reading.proxies.get(proxy_id)])
    if dry_run:
        render.print_plan(f"remove {count} proxies", {"proxies": count}, as_json=as_json)
        return exits.DONE
    async with open_client(settings) as app:
        if state is not None:
            count = await app.store.proxies.delete_in_state(state)
        elif proxy_id is not None:
            await app.store.proxies.delete(proxy_id)
    if as_json:
        render.print_json({"removed": count})
    else:
        print(f"{count} proxies removed")
    return exits.DONE
