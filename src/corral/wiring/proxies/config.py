"""The proxy configuration of this installation."""

import asyncio
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from corral.domain.errors import BadConfiguration
from corral.domain.net.proxy import DIRECT, ProxyPolicy, UsualPolicy
from corral.domain.net.url import parse_target
from corral.domain.proxies.config import ProxyConfig, parse_config, read_policy
from corral.domain.proxies.refresh import RefreshProgress
from corral.engine.refresh.keeper import Mirror
from corral.files.yaml_file import read_yaml
from corral.settings import Settings

_MAX_BYTES = 1024 * 1024
_CONFIG_S = 10


def load_proxy_config(settings: Settings) -> ProxyConfig:
    """Read the configuration; a missing file is an empty one. BadConfiguration names every problem."""
    config = parse_config(_read_file(settings.proxy_config))
    if config.problems:
        raise BadConfiguration([f"{settings.proxy_config}: {problem}" for problem in config.problems])
    return config


def usual_policy(settings: Settings) -> UsualPolicy:
    """Return a function that finds the policy of a site in the configuration, or APP_PROXY_POLICY.

    It reads the file again every few seconds, so that changes apply.
    """

    @lru_cache(maxsize=1)
    def read(_: int) -> ProxyConfig:
        return load_proxy_config(settings)

    def find(url: str) -> ProxyPolicy | None:
        host = parse_target(url, max_chars=8192).host
        text = read(int(time.monotonic() // _CONFIG_S)).policy_for(host) or read_policy(settings.proxy_policy)
        return None if text == DIRECT else ProxyPolicy(text)

    return find


def refresh_mirror(settings: Settings) -> Mirror:
    """Return a function that copies the progress of refreshes to Redis."""
    from corral.transport.refresh_mirror import RefreshMirror  # noqa: PLC0415 - only where it is used
    from corral.wiring.redis import progress_url  # noqa: PLC0415

    mirror = RefreshMirror(progress_url(settings))

    async def put(progress: RefreshProgress) -> bool:
        return await asyncio.to_thread(mirror.put, progress)

    return put


def _read_file(path: Path) -> Any:
    try:
        return read_yaml(path, _MAX_BYTES) if path.is_file() else None
    except FileNotFoundError:
        return None
