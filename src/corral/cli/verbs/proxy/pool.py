"""`corral proxy list`, `import`, `export` and `rm`."""

import os
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import orjson
import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, Limit
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.errors import BadInput
from corral.domain.net.pool_policy import Tier
from corral.domain.net.proxy import OpenProxy
from corral.domain.proxies.listing import parse_list
from corral.domain.proxies.pooled import PooledProxy, ProxyState
from corral.settings import Settings, load_settings
from corral.store.store import Store
from corral.views.proxies import pool_view, proxy_view
from corral.wiring.roles import open_client
from corral.wiring.vault import open_proxy

StateOption = Annotated[ProxyState | None, typer.Option("--state", help="Only proxies in this state.")]
_PAGE = 1000
LIVE_FILE = Path("live_proxies.json")


def list_(state: StateOption = None, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the proxies of the pool, newest first.

    Credentials are not shown.

    \b
    corral proxy list --state alive
    """
    finish(_list(load_settings(), state, limit, as_json=as_json))


async def _list(settings: Settings, state: ProxyState | None, limit: int, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        found, counts = await store.proxies.page(state, None, limit), await store.proxies.count()
    if as_json:
        render.print_json([proxy_view(each) for each in found])
        return exits.DONE
    rows = [
        (
            each.id, each.policy.redacted, each.state.value, f"{each.score:.0f}", each.latency_ms,
            each.anonymity.value, each.tier.value, each.problem or "",
        )
        for each in found
    ]  # fmt: skip
    columns = ("id", "address", "state", "score", "ms", "anonymity?", "tier?", "problem…")
    render.print_table(columns, rows, nothing="no proxies; `corral proxy import FILE` adds some")
    shown = pool_view(counts, settings.min_proxies_for_scraping)
    print(f"{shown['usable']} usable of {shown['total']}", file=sys.stderr)
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
        found = parse_list(text, scheme=scheme, tier=tier)
        about = {"proxies": len(found.proxies), "malformed": found.malformed_count}
        render.print_plan(f"import {len(found.proxies)} proxies", about, as_json=as_json)
        raise typer.Exit(exits.PARTIAL if found.malformed_count else exits.DONE)
    finish(_import(load_settings(), text, file.name, scheme, tier, as_json=as_json))


async def _import(settings: Settings, text: str, name: str, scheme: str, tier: Tier, *, as_json: bool) -> int:
    async with open_client(settings) as app:
        report = await app.proxies.add(text, name, scheme=scheme, tier=tier)
    if as_json:
        render.print_json(report.document())
    else:
        print(f"{report.imported} imported, {report.updated} updated, {report.unchanged} unchanged")
        for each in report.malformed:
            exits.complain(f"{each.where}: {each.reason}")
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
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = LIVE_FILE,
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
        usable = await _load_usable(store)
    chosen = [each for each in usable if with_credentials or each.sealed is None]
    left_out = len(usable) - len(chosen)
    about = {"file": str(output), "proxies": len(chosen), "left_out": left_out}
    if dry_run:
        render.print_plan(f"write {len(chosen)} proxies to {output}", about, as_json=as_json)
        return exits.DONE
    rows = [{"proxy": _address(settings, each), **_about(each)} for each in chosen]
    document = {"generated_at": datetime.now(UTC), "count": len(rows), "proxies": rows}
    _replace_file(output, orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z) + b"\n")
    if as_json:
        render.print_json(about)
    else:
        print(f"{len(rows)} proxies written to {output}")
    if left_out:
        exits.complain(f"{left_out} proxies with credentials were left out", "use --with-credentials")
    return exits.PARTIAL if left_out else exits.DONE


async def _load_usable(store: Store) -> list[PooledProxy]:
    return sorted((await store.proxies.load()).usable, key=lambda each: -each.score)


def _address(settings: Settings, proxy: PooledProxy) -> str:
    opened = open_proxy(settings, proxy.policy)
    assert opened is not None
    return _with_credentials(opened)


def _with_credentials(proxy: OpenProxy) -> str:
    if proxy.user is None or proxy.password is None:
        return proxy.address
    who = f"{quote(proxy.user.reveal(), safe='')}:{quote(proxy.password.reveal(), safe='')}"
    return proxy.address.replace("://", f"://{who}@", 1)


def _about(proxy: PooledProxy) -> dict[str, Any]:
    view = proxy_view(proxy)
    names = ("tier", "score", "latency_ms", "anonymity", "exit_address", "tls", "checked_at")
    return {name: view[name] for name in names}


def _replace_file(path: Path, data: bytes) -> None:
    """Write a private file beside it and rename that: a reader sees the old list or the new one."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise BadInput(f"{path} cannot be written ({error.strerror})", field="output") from None


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
