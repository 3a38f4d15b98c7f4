"""A browser page to log in on."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from corral.domain.net.proxy import ProxyPolicy
from corral.settings import Settings
from corral.wiring.probe import make_egress

if TYPE_CHECKING:
    from corral.fetch.browser.login import LoginPage


from corral.wiring.vault import open_proxy


@asynccontextmanager
async def login_browser(
    settings: Settings,
    trusted_hosts: Iterable[str],
    *,
    headed: bool,
    proxy: ProxyPolicy | None = None,
    verifies_tls: bool = True,
) -> AsyncIterator["LoginPage"]:
    """Open a page for a login by the user or a script; it uses the guarded egress like every other page."""
    from corral.fetch.browser.login import login_page  # noqa: PLC0415 - it brings Playwright
    from corral.fetch.browser.profile_folder import sweep_homes  # noqa: PLC0415

    egress = make_egress(settings)
    await asyncio.to_thread(sweep_homes)
    try:
        agent, trusted, upstream = settings.agent, frozenset(trusted_hosts), open_proxy(settings, proxy)
        async with login_page(
            egress,
            trusted,
            agent,
            headed=headed,
            upstream=upstream,
            verifies_tls=verifies_tls,
            executable=settings.browser_executable,
        ) as page:
            yield page
    finally:
        await egress.close()
