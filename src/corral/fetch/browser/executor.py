"""The `browser` strategy. Playwright is imported with the first page: most workers never render one."""

from typing import TYPE_CHECKING

from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Outcome
from corral.fetch.browser.launch_args import BrowserLimits
from corral.fetch.egress.client import Egress
from corral.fetch.parsing.pool import PageReader
from corral.fetch.proxy.passes import ProxyLimits
from corral.fetch.proxy.route import Proxies
from corral.fetch.robots import Robots
from corral.files.artifacts import ArtifactFolder

if TYPE_CHECKING:
    from corral.fetch.browser.renderer import Renderer


class BrowserExecutor:
    def __init__(
        self,
        egress: Egress,
        robots: Robots,
        user_agent: str,
        limits: BrowserLimits | None = None,
        proxy_limits: ProxyLimits | None = None,
        *,
        folder: ArtifactFolder | None = None,
        reader: PageReader | None = None,
        proxies: Proxies | None = None,
    ) -> None:
        self._reader = reader
        self._proxies = proxies
        self._folder = folder  # for evidence of failed pages; None stores nothing
        self._egress = egress
        self._robots = robots
        self._user_agent = user_agent
        self._limits = limits or BrowserLimits()
        self._proxy_limits = proxy_limits or ProxyLimits()
        self._renderer: Renderer | None = None

    async def execute(self, task: Task) -> Outcome:
        return await self.renderer.execute(task)

    async def close(self) -> None:
        if self._renderer is not None:
            await self._renderer.close()

    @property
    def renderer(self) -> "Renderer":
        if self._renderer is None:
            from corral.fetch.browser.renderer import Renderer  # noqa: PLC0415 - it brings Playwright: 0.1 s, 10 MB

            self._renderer = Renderer(
                self._egress,
                self._robots,
                self._user_agent,
                self._limits,
                self._proxy_limits,
                folder=self._folder,
                reader=self._reader,
                proxies=self._proxies,
            )
        return self._renderer
