"""The options of a crawl and of a crawl helper, and the first items of a crawl."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import ROBOTS, DiscoveredLink, listing_key, short_key
from corral.domain.lists.position import ListPosition, listing_kind
from corral.domain.net.canonical import canonical_url, url_key
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.net.url import parse_target
from corral.domain.quality.thresholds import USUAL_THRESHOLDS, Thresholds
from corral.domain.runs.payload.common import CommonPayload, common_options
from corral.domain.runs.payload.stored import Payload
from corral.domain.sites.session import SealedSession

# The node intervenes this long after the crawl's own time limit.
_MARGIN_S = 60.0
_LONGEST_S = 30 * 86_400.0


@dataclass(frozen=True)
class CrawlPayload(CommonPayload):
    plan_document: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)  # the caller's own data about the run
    recipes: tuple[dict[str, Any], ...] = ()  # for the items of a list: see StoredRecipe.payload

    @cached_property
    def plan(self) -> CrawlPlan:
        return CrawlPlan.of(self.plan_document)

    # For listing many crawls: parsing a plan takes long if it has 10,000 start URLs.
    @property
    def start_urls(self) -> tuple[str, ...]:
        return tuple(self.plan_document.get("start_urls") or ())

    @property
    def counting_params(self) -> frozenset[str]:
        return frozenset(self.plan_document.get("keep_params") or ())

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**crawl_options(document))

    def document(self) -> dict[str, Any]:
        recipes = {"recipes": list(self.recipes)} if self.recipes else {}
        return {
            "url": self.url,
            "crawl": self.plan_document,
            "trusted_hosts": list(self.trusted_hosts),
            **self.timeout_option(),
            "about": self.about,
            **self.access_options(),
            **recipes,
        }


@dataclass(frozen=True)
class CrawlHelperPayload(CrawlPayload):
    helper: int = 0  # number of the helper; items with this number belong to it
    crawl_started: float | None = None  # the helper shares the time limit of the crawl
    crawl_run: str = ""

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            **crawl_options(document),
            # Runs queued by an older version use the name `share`.
            helper=int(document["helper"] if "helper" in document else document["share"]),
            crawl_started=document.get("crawl_started"),
            crawl_run=str(document.get("crawl_run", "")),
        )

    def document(self) -> dict[str, Any]:
        mine = {"helper": self.helper, "crawl_started": self.crawl_started, "crawl_run": self.crawl_run}
        return {**super().document(), **mine}


def helper_payload(crawl: Payload, *, helper: int, started: float | None, run_id: str) -> Payload:
    """Return the payload of a helper: the options of the crawl, of any version, and its own."""
    return Payload({**crawl.document(), "helper": helper, "crawl_started": started, "crawl_run": run_id})


def plan_of(payload: Payload) -> CrawlPlan:
    return payload.read(CrawlPayload).plan


def crawl_options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `CrawlPayload` from a document."""
    return {
        **common_options(document),
        "plan_document": document.get("crawl") or {},
        "about": document.get("about") or {},
        "recipes": tuple(document.get("recipes") or ()),
    }


@dataclass(frozen=True, slots=True)
class CrawlAccess:
    """The access options of a crawl beside its plan: login, proxy, certificate check, data thresholds."""

    login: SealedSession | None = None
    proxy: ProxyPolicy | None = None
    verify_tls: bool = True
    requires_auth: bool = False  # uses the session of its job
    quality: Thresholds = USUAL_THRESHOLDS  # how far its data may differ from earlier crawls


USUAL = CrawlAccess()


def crawl_payload(
    plan: CrawlPlan,
    trusted_hosts: Sequence[str] = (),
    access: CrawlAccess = USUAL,
    about: dict[str, object] | None = None,
    recipes: Sequence[dict[str, Any]] = (),
) -> CrawlPayload:
    return CrawlPayload(
        url=plan.start_urls[0],
        trusted_hosts=tuple(trusted_hosts),
        timeout_s=(plan.max_seconds or _LONGEST_S) + _MARGIN_S,
        requires_auth=access.requires_auth,
        verify_tls=access.verify_tls,
        proxy=access.proxy,
        login=access.login,
        quality=access.quality,
        plan_document=plan.document(),
        about=about or {},
        recipes=tuple(recipes),
    )


def seeds_of(plan: CrawlPlan) -> list[DiscoveredLink]:
    """Return the start URLs, each once in canonical form."""
    seeds = {}
    for url in plan.start_urls:
        target = parse_target(url, field="url")
        key = url_key(target, plan.counting_params)
        seed = DiscoveredLink(canonical_url(target), short_key(key), target.authority, 0)
        if plan.listing is not None:
            seed = seed._replace(key=listing_key(key), kind=listing_kind(ListPosition(1)))
        seeds[seed.key] = seed
    return [*seeds.values(), *_sitemaps(plan)]


def _sitemaps(plan: CrawlPlan) -> list[DiscoveredLink]:
    """Return the robots.txt URLs of the start pages, which name the sitemaps."""
    if not plan.use_sitemaps:
        return []
    targets = {target.origin: target for target in map(parse_target, plan.start_urls)}
    return [
        DiscoveredLink(f"{origin}/robots.txt", short_key(f"{ROBOTS} {origin}"), target.authority, 0, kind=ROBOTS)
        for origin, target in targets.items()
    ]
