"""Helpers of the tests of runs, shared with other tests."""

from pathlib import Path
from typing import Any

from corral.engine.hosts.host_state import HostState
from corral.settings import Settings
from corral.wiring.app import App
from tests.engine.builders import node_of, settings_for
from tests.engine.crawl.site import Site


def settings_with_limits(folder: Path, **changed: Any) -> Settings:
    plain: dict[str, Any] = {"egress_allow": "127.0.0.0/8:*", "breaker_failures": 5, "http_timeout_seconds": 5}
    return settings_for(folder, **(plain | {"workers": 1} | changed))


def host_of(app: App, site: Site) -> HostState:
    return node_of(app).limiter.host(site.url.partition("//")[2])
