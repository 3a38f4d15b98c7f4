"""Campaigns for programs that have no event loop: executed by Celery workers, or by a node in a thread."""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from corral.domain.campaigns.campaign import Campaign, site_progress
from corral.domain.campaigns.site_work import SiteWork, progress
from corral.domain.errors import RunNotFound
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.url import parse_target
from corral.domain.runs.run import CRAWL
from corral.engine.node.sources import ChosenRunsSource
from corral.engine.usecases.campaigns import CampaignOrder
from corral.settings import Settings, Transport
from corral.store.open import open_for_reading
from corral.wiring.app import App
from corral.wiring.roles import open_campaign_node, open_client

T = TypeVar("T")

_CRAWLS = 64  # concurrent sites in the node of a program


class SiteStarter(Protocol):
    def start(self, sites: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Start one run per site and return its id by site. If one is rejected, none is started."""
        ...


class CelerySites:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings.model_copy(update={"transport": Transport.CELERY})

    def start(self, sites: Mapping[str, Sequence[str]]) -> dict[str, str]:
        return run_in_thread(self._start(CampaignOrder.of(sites)))

    async def _start(self, order: CampaignOrder) -> dict[str, str]:
        async with open_client(self._settings) as app:
            campaign, _ = await app.sites.campaigns.start(order)
        return list_jobs(campaign)


class NodeThread:
    """A node in a thread of this process. It executes the sites that were started here, and no other run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.model_copy(
            update={
                "transport": Transport.EMBEDDED,
                "queue_feed": False,
                "max_crawls": max(settings.max_crawls, _CRAWLS),
            }
        )
        self._opened: Future[tuple[App, ChosenRunsSource]] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._serve, name="corral-node", daemon=True)
        self._thread.start()

    def start(self, sites: Mapping[str, Sequence[str]]) -> dict[str, str]:
        app, source = self._opened.result()
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(self._start(app, source, CampaignOrder.of(sites)), self._loop).result()

    async def _start(self, app: App, source: ChosenRunsSource, order: CampaignOrder) -> dict[str, str]:
        campaign, _ = await app.sites.campaigns.start(order)
        source.choose(site.run_id for site in campaign.sites)
        if app.node is not None:
            app.node.wake()
        return list_jobs(campaign)

    def stop(self) -> None:
        """Stop the node: running pages finish or are released, and nothing is lost."""
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _serve(self) -> None:
        try:
            asyncio.run(self._hold_open())
        except BaseException as error:  # noqa: BLE001 - passed on to the caller, which waits in another thread
            if not self._opened.done():
                self._opened.set_exception(error)

    async def _hold_open(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with open_campaign_node(self._settings) as opened:
            self._opened.set_result(opened)
            await self._stopping.wait()


def check_sites(settings: Settings, sites: Mapping[str, Sequence[str]]) -> None:
    """Refuse bad addresses before anything is opened or started."""
    policy = EgressPolicy(settings.egress_allow)
    for site, urls in CampaignOrder.of(sites).sites.items():
        for url in SiteWork.of(site, urls).plan.start_urls:
            check_literal(parse_target(url, field="urls"), policy, field="urls")


def list_jobs(campaign: Campaign) -> dict[str, str]:
    return {site.site: site.run_id for site in campaign.sites}


async def read_progress(settings: Settings, run_id: str) -> dict[str, Any]:
    store = open_for_reading(settings.store_url)
    try:
        run = await store.runs.get(run_id)
        if run.kind != CRAWL:
            raise RunNotFound(run_id)
        campaign_id = await store.campaigns.find_by_run(run_id)
        if campaign_id is None:
            return progress(run, (await store.crawls.get(run_id)).counts)
        sites = (await store.campaigns.get(campaign_id)).sites
        return next(site_progress(each) for each in sites if each.run_id == run_id)
    finally:
        await store.close()


def run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a separate thread: the caller may already have an event loop, as notebooks do."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
