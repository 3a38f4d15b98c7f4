"""Options of a run that fetches one page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from corral.domain.cost.budget import NO_BUDGET, Budget
from corral.domain.cost.spent import FREE, Prices
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import Job, OnTrouble
from corral.domain.runs.payload.common import CommonPayload, common_options
from corral.domain.runs.payload.stored import Payload


@dataclass(frozen=True)
class PagePayload(CommonPayload):
    fields: tuple[FieldSpec, ...] = ()
    respect_robots: bool = True
    on_captcha: OnTrouble = OnTrouble.FAIL
    on_missing: OnTrouble = OnTrouble.FAIL
    recipe: dict[str, Any] | None = None  # of an API replay: see StoredRecipe.payload
    user_agent: str | None = None  # None: the installation's own
    record_key: tuple[str, ...] = ()  # see Job.record_key
    budget: Budget = NO_BUDGET  # of all attempts together
    prices: Prices = FREE  # by which the budget counts money

    @classmethod
    def of_job(cls, job: Job, prices: Prices = FREE) -> Self:
        """Copy the options of a job: a later change of the job, or of the prices, does not change existing runs."""
        return cls(
            url=job.target_url,
            trusted_hosts=job.trusted_hosts,
            timeout_s=job.timeout_s,
            requires_auth=job.requires_auth,
            verify_tls=job.verify_tls,
            proxy=job.proxy,
            quality=job.quality,
            fields=job.fields,
            respect_robots=job.respect_robots,
            on_captcha=job.on_captcha,
            on_missing=job.on_missing,
            record_key=job.record_key,
            budget=job.budget,
            prices=FREE if job.budget.is_empty else prices,
        )

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.fields)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**page_options(document))

    def document(self) -> dict[str, Any]:
        waits = {"on_captcha": self.on_captcha, "on_missing": self.on_missing}
        optional = {"recipe": self.recipe, "user_agent": self.user_agent}
        return {
            "url": self.url,
            "fields": [spec.document() for spec in self.fields],
            "respect_robots": self.respect_robots,
            "trusted_hosts": list(self.trusted_hosts),
            **self.timeout_option(),
            **self.access_options(),
            **{name: how.value for name, how in waits.items() if how is OnTrouble.WAIT},
            **({"record_key": list(self.record_key)} if self.record_key else {}),
            **{name: value for name, value in optional.items() if value is not None},
            **({} if self.budget.is_empty else {"budget": self.budget.document(), "prices": self.prices.document()}),
        }


def with_login(payload: Payload) -> Payload:
    """Return the payload of the same run, executed with the session of its job."""
    return Payload.of(replace(payload.read(PagePayload), requires_auth=True))


def page_options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `PagePayload` from a document."""
    recipe = document.get("recipe")
    return {
        **common_options(document),
        "fields": tuple(FieldSpec.of(spec) for spec in document.get("fields") or ()),
        "respect_robots": bool(document.get("respect_robots", True)),
        "on_captcha": OnTrouble(document.get("on_captcha", OnTrouble.FAIL)),
        "on_missing": OnTrouble(document.get("on_missing", OnTrouble.FAIL)),
        "recipe": recipe if isinstance(recipe, dict) else None,
        "user_agent": document.get("user_agent"),
        "record_key": tuple(document.get("record_key") or ()),
        "budget": Budget.of(document.get("budget")),
        "prices": Prices(**(document.get("prices") or {})),
    }
