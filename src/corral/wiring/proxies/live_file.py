"""The usable proxies as a file for other programs: `live_proxies.json`."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import structlog

from corral.domain.errors import CorralError
from corral.domain.net.proxy import OpenProxy
from corral.domain.proxies.pooled import PooledProxy
from corral.domain.proxies.refresh import RefreshProgress
from corral.engine.refresh.keeper import Publisher
from corral.files.private_file import replace_private
from corral.settings import Settings
from corral.store.store import Store
from corral.wiring.proxies.config import load_proxy_config
from corral.wiring.vault import open_proxy

log = structlog.get_logger()

LIVE_FILE = "live_proxies.json"


async def load_usable(store: Store) -> list[PooledProxy]:
    """Return the usable proxies, best first."""
    return sorted((await store.proxies.load()).usable, key=lambda proxy: -proxy.score)


def export_proxies(settings: Settings, usable: Sequence[PooledProxy], path: Path, *, with_credentials: bool) -> None:
    """Write the proxies to a private file, those with credentials only on request; raise OSError if that fails."""
    chosen = [proxy for proxy in usable if with_credentials or proxy.sealed is None]
    rows = [{"proxy": _address(settings, proxy), **_describe(proxy)} for proxy in chosen]
    document = {"generated_at": datetime.now(UTC), "count": len(rows), "proxies": rows}
    with replace_private(path) as file:
        file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z) + b"\n")


def live_file_writer(settings: Settings, store: Store) -> Publisher:
    """Return a function that writes the configured file when a refresh has ended."""

    async def write(_: RefreshProgress) -> None:
        try:
            export = (await asyncio.to_thread(load_proxy_config, settings)).export
            path = Path(export.file) if export.file else settings.data_dir / LIVE_FILE
            usable = await load_usable(store)
            await asyncio.to_thread(export_proxies, settings, usable, path, with_credentials=export.with_credentials)
        except OSError as error:
            log.warning("live_proxies_not_written", file=error.filename, reason=error.strerror)
        except CorralError as error:
            log.warning("live_proxies_not_written", reason=error.message)

    return write


def _address(settings: Settings, proxy: PooledProxy) -> str:
    opened = open_proxy(settings, proxy.policy)
    assert opened is not None
    return _with_credentials(opened)


def _with_credentials(proxy: OpenProxy) -> str:
    if proxy.user is None or proxy.password is None:
        return proxy.address
    credentials = f"{quote(proxy.user.reveal(), safe='')}:{quote(proxy.password.reveal(), safe='')}"
    return proxy.address.replace("://", f"://{credentials}@", 1)


def _describe(proxy: PooledProxy) -> dict[str, Any]:
    checked_at = proxy.checked_at
    return {
        "tier": proxy.tier.value,
        "score": proxy.score,
        "latency_ms": proxy.latency_ms,
        "anonymity": proxy.anonymity.value,
        "exit_address": proxy.exit_address,
        "tls": proxy.has_tls,
        "checked_at": None if checked_at is None else datetime.fromtimestamp(round(checked_at, 3), UTC),
    }
