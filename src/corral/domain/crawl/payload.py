"""Options of a crawl, and of a run that helps with one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.runs.payload.common import CommonPayload, common_options
from corral.domain.runs.payload.stored import Payload


@dataclass(frozen=True)
class CrawlPayload(CommonPayload):
    plan_document: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)  # what the caller wants to find again with the run
    recipes: tuple[dict[str, Any], ...] = ()  # for the items of a list: see StoredRecipe.payload

    @cached_property
    def plan(self) -> CrawlPlan:
        return CrawlPlan.of(self.plan_document)

    # For readers of a whole list of crawls: parsing a plan takes long where it has 10,000 start URLs.
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
    crawl_started: float | None = None  # the helper has the time limit of the crawl
    crawl_run: str = ""

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            **crawl_options(document),
            # Runs that were queued by an older version call it `share`.
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
    """The arguments of `CrawlPayload` in a document."""
    return {
        **common_options(document),
        "plan_document": document.get("crawl") or {},
        "about": document.get("about") or {},
        "recipes": tuple(document.get("recipes") or ()),
    }
