"""Start campaigns: one crawl per site, with the limits of its configuration."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from corral.domain.campaigns.campaign import Campaign, NewSite
from corral.domain.campaigns.site_work import SiteWork
from corral.domain.cost.spent import FREE, Prices
from corral.domain.crawl.budgets import budget_options
from corral.domain.crawl.payload import CrawlAccess, seeds_of
from corral.domain.errors import BadInput
from corral.domain.jobs.job import Priority
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.proxy import ProxyPolicy, UsualPolicy, connect_directly
from corral.domain.net.url import parse_target
from corral.domain.ports.campaigns import CampaignStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.queues import Waker
from corral.domain.site_config.book import SiteBook, SiteConfig
from corral.domain.site_config.order import check_dependencies
from corral.domain.site_config.site_key import parse_site_key
from corral.engine.usecases.crawls import crawl_run
from corral.runtime.new_ids import new_id

MAX_SITES = 1_000
_MAX_CONCURRENCY = 256  # options of a crawl
_DEFAULT_CONCURRENCY = 10

SealProxy = Callable[[str], ProxyPolicy]


@dataclass(frozen=True, slots=True)
class CampaignOrder:
    """The order of a campaign: URLs by site, and the sites that must end before another one starts."""

    sites: Mapping[str, Sequence[str]]
    depends_on: Mapping[str, Sequence[str]]
    trusted_hosts: tuple[str, ...] = ()

    @staticmethod
    def of(
        sites: Mapping[str, Sequence[str]],
        depends_on: Mapping[str, Sequence[str]] | None = None,
        trusted_hosts: Sequence[str] = (),
    ) -> "CampaignOrder":
        if not 1 <= len(sites) <= MAX_SITES:
            problem = f"{len(sites)} sites are more than {MAX_SITES}" if sites else "no site is given"
            raise BadInput(problem, field="sites", hint=f'{{"site": ["https://…"]}}, at most {MAX_SITES}')
        unknown = sorted(set(depends_on or {}) - set(sites))
        if unknown:
            raise BadInput(f"{', '.join(unknown)[:200]} is no site of this campaign", field="depends_on")
        return CampaignOrder(dict(sites), dict(depends_on or {}), tuple(trusted_hosts))


class Campaigns:
    def __init__(
        self,
        store: CampaignStore,
        policy: EgressPolicy,
        wake: Waker,
        read_book: Callable[[], Awaitable[SiteBook]],
        seal_proxy: SealProxy,
        *,
        prices: Prices = FREE,
        usual_policy: UsualPolicy = connect_directly,
    ) -> None:
        self._store = store
        self._policy = policy
        self._wake = wake
        self._read_book = read_book
        self._seal_proxy = seal_proxy
        self._prices = prices
        self._usual_policy = usual_policy

    async def plan(self, order: CampaignOrder) -> list[NewSite]:
        """Check every site before anything is written; BadInput names the problem."""
        book = await self._read_book()
        configs = {site: find_config(book, site, urls) for site, urls in order.sites.items()}
        waits = find_dependencies(order, configs)
        return [self._plan_site(site, order, configs[site], waits[site]) for site in order.sites]

    async def start(self, order: CampaignOrder, key: IdempotencyKey | None = None) -> tuple[Campaign, bool]:
        """Write the campaign and the runs of all its sites in one transaction."""
        sites = await self.plan(order)
        campaign_id, is_replayed = await self._store.add(new_id(), sites, key)
        campaign = await self._store.get(campaign_id)
        if not is_replayed:
            self._wake(*(each.run for each in campaign.sites if each.run is not None and each.is_released))
        return campaign, is_replayed

    def _find_proxy(self, config: SiteConfig, urls: Sequence[str]) -> ProxyPolicy | None:
        """Return the proxy policy of the configuration, else that of the installation for the first URL."""
        text = config.get("proxy_policy")
        if text is not None:
            return self._seal_proxy(text)
        return self._usual_policy(urls[0]) if urls and not isinstance(urls, str) else None

    def _plan_site(self, site: str, order: CampaignOrder, config: SiteConfig, waits_for: tuple[str, ...]) -> NewSite:
        proxy = self._find_proxy(config, order.sites[site])
        work = SiteWork.of(site, order.sites[site], make_options(config, self._prices.for_policy(proxy)))
        for url in work.plan.start_urls:
            target = parse_target(url, field="urls")
            check_literal(target, self._policy, field="urls", trusted_hosts=frozenset(order.trusted_hosts))
        access = CrawlAccess(proxy=proxy)
        hosts = {parse_target(url).host for url in work.plan.start_urls}
        trusted = [host for host in order.trusted_hosts if host in hosts]
        run = crawl_run(work.plan, None, Priority.MEDIUM, trusted_hosts=trusted, about=work.about, access=access)
        meta = {"resolved_strategy": run.resolved_strategy.value, "start_urls": len(work.plan.start_urls)}
        drafts = [EventDraft(EventKind.CREATED, {**meta, "site": work.site})]
        return NewSite(work.site, run, drafts, seeds_of(work.plan), waits_for)


def find_config(book: SiteBook, site: str, urls: Sequence[str]) -> SiteConfig:
    """Return the configuration with the name of the site, else the one for the host of its first URL."""
    try:
        is_configured = parse_site_key(site) in book.sites
    except BadInput:
        is_configured = False
    if is_configured:
        return book.find(site)
    if isinstance(urls, str) or not urls:
        return SiteConfig(site, {})  # the plan of its pages reports the problem
    return book.find(parse_target(urls[0], field="urls").url)


def make_options(config: SiteConfig, prices: Prices = FREE) -> dict[str, object]:
    """Return the crawl options that a configuration sets."""
    options: dict[str, object] = {
        "concurrency": min(_MAX_CONCURRENCY, config.get("concurrency") or _DEFAULT_CONCURRENCY)
    }
    options |= budget_options(config.budget, prices)
    for name in ("strategy", "browser_pages", "memory_mib"):
        if config.get(name) is not None:
            options[name] = config.get(name)
    return options


def find_dependencies(order: CampaignOrder, configs: Mapping[str, SiteConfig]) -> dict[str, tuple[str, ...]]:
    """Return the dependencies of each site. A configured dependency counts only if that site is in the campaign."""
    names = {config.site: site for site, config in configs.items()}
    waits = {}
    for site, config in configs.items():
        configured = [names[each] for each in config.depends_on if each in names]
        waits[site] = tuple(dict.fromkeys(order.depends_on.get(site, configured)))
    check_dependencies(waits)
    return waits
