"""Create and change jobs. Everything is checked before anything is written."""

import asyncio
import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from corral.domain.cost.budget import NO_BUDGET
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.job_pages import ITEM_LINKS, Listing, check_pages, plan_of_job
from corral.domain.errors import BadInput, StorageUnavailable
from corral.domain.fields.page_fields import PageFields
from corral.domain.fields.record_key import check_record_key
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import CrawlMode, Job, OnTrouble, StoredJob
from corral.domain.jobs.schedule import check_frequency, next_slot
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.pool_policy import is_pool_text, parse_pool_policy
from corral.domain.net.proxy import (
    DIRECT,
    ProxyPolicy,
    UsualPolicy,
    connect_directly,
    credentials_text,
    parse_proxy,
)
from corral.domain.net.url import parse_target
from corral.domain.ports.execution import Prober
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.probe import Probe
from corral.domain.runs.strategy import is_proxied
from corral.domain.secret import Secret
from corral.runtime.new_ids import new_id

MAX_FIELDS = 200

Seal = Callable[[Secret[str], str], str]  # the vault's function: a text, and the context it is bound to
_CHANGE_TRIES = 50


class Jobs:
    def __init__(
        self,
        store: EngineStore,
        prober: Prober,
        policy: EgressPolicy,
        seal: Seal,
        usual_policy: UsualPolicy = connect_directly,
    ) -> None:
        self._usual_policy = usual_policy
        self._seal = seal
        self._store = store
        self._prober = prober
        self._policy = policy

    async def create(
        self, job: Job, key: IdempotencyKey | None = None, *, probes: bool = True
    ) -> tuple[StoredJob, bool]:
        """Store a job. For an idempotency key used before, return the earlier job and True.

        Probe the target once, to reject jobs that cannot work; without `probes`, the first run finds out.
        """
        # Checked first: a repeated request gets the same answer, even if the target has changed.
        if key is not None and (earlier_id := await self._store.idempotency.find(key)) is not None:
            return await self._store.jobs.get(earlier_id), True
        checked = await self._check(job, probes=probes)
        job_id, replayed = await self._store.jobs.add(checked, _next_slot_ms(checked), key)
        return await self._store.jobs.get(job_id), replayed

    async def change(self, job_id: str, changes: dict[str, Any], *, probes: bool = True) -> StoredJob:
        """Change properties of a job; existing runs keep their own."""
        return await self.change_by(job_id, lambda _: changes, probes=probes)

    async def change_by(
        self, job_id: str, changes_of: Callable[[Job], dict[str, Any]], *, probes: bool = True
    ) -> StoredJob:
        """Change a job depending on its current state; compute the change again if another request came first."""
        for _ in range(_CHANGE_TRIES):
            before = (await self._store.jobs.get(job_id)).job
            after = await self._apply_change(before, changes_of(before), probes=probes)
            if await self._store.jobs.update(before, after, _next_slot_ms(after)):
                return await self._store.jobs.get(job_id)
        raise StorageUnavailable("other requests keep changing the job", hint="try again")

    async def _apply_change(self, before: Job, changes: dict[str, Any], *, probes: bool) -> Job:
        job = replace(before, **changes)
        if changes.get("list_config") is not None and job.crawl_mode is CrawlMode.SINGLE:
            # A job that is set back to a single page keeps its list_config for later; a new list_config would be
            # ignored.
            raise BadInput("list_config needs crawl_mode list or crawl", field="list_config", hint="name one")
        if job.target_url != before.target_url:
            # The user trusted the target as typed, not a later target of the job.
            return await self._check(replace(job, trusted_hosts=()), probes=probes, is_draft=True)
        check_job(job, is_draft=True)
        return job

    def proxy_policy(self, text: str | None) -> ProxyPolicy | None:
        return None if text is None else seal_proxy(text, self._policy, self._seal)

    async def clone(self, job_id: str, key: IdempotencyKey | None = None) -> tuple[StoredJob, bool]:
        """Store a copy of a job and return it. Trusted hosts are not copied: the user trusted only the typed target."""
        original = (await self._store.jobs.get(job_id)).job
        copy = replace(original, id=JobId(new_id()), created_at=datetime.now(UTC), trusted_hosts=())
        copy_id, replayed = await self._store.jobs.add(copy, _next_slot_ms(copy), key)
        return await self._store.jobs.get(copy_id), replayed

    async def _check(self, job: Job, *, probes: bool, is_draft: bool = False) -> Job:
        target = parse_target(job.target_url)
        trusted = frozenset(job.trusted_hosts)
        check_literal(target, self._policy, trusted_hosts=trusted)
        # The selector compilers are loaded with the first job, in a thread: the import would block the event loop.
        await asyncio.to_thread(importlib.import_module, "corral.extract.selectors.spec")
        check_job(job, is_draft=is_draft)
        if probes and not is_proxied(replace(job, proxy=job.proxy or self._usual_policy(target.url))):
            refuse_unreachable(await self._prober(target.url, job.fields, trusted, verifies_tls=job.verify_tls))
        return replace(job, target_url=target.url)


def check_job(job: Job, *, is_draft: bool = False) -> None:
    """Check a job. A draft may be incomplete: only the start of a run reports missing options."""
    patterns = _patterns_of(job)
    if job.fields or not patterns:
        check_fields(job.fields)
    specs = (*job.fields, *(spec for pattern in patterns for spec in pattern.fields))
    check_record_key(job.record_key, specs)
    if job.crawl_mode is not CrawlMode.CRAWL:  # pages of a site have properties besides their fields
        check_record_key(job.quality.ignore, specs, field="quality.ignore")
    check_frequency(job.frequency)
    check_pages(job, is_draft=is_draft)
    has_links = bool((job.list_config or {}).get(ITEM_LINKS))
    if job.crawl_mode is CrawlMode.LIST and job.list_config is not None and has_links:
        for spec in Listing.of(job.list_config).selectors:
            check_selectors(spec, field=f"list_config.{spec.name}")
    if job.crawl_mode is not CrawlMode.SINGLE:
        for name, reaction in (("on_captcha", job.on_captcha), ("on_missing", job.on_missing)):
            if reaction is OnTrouble.WAIT:
                raise BadInput(
                    "only a job of a single page waits for a person", field=name, hint="set it to fail, or leave it out"
                )
        if job.crawl_mode is CrawlMode.CRAWL or has_links:
            _check_plan(job)


def _patterns_of(job: Job) -> list[PageFields]:
    patterns = (job.list_config or {}).get("page_fields") if job.crawl_mode is CrawlMode.CRAWL else None
    return [PageFields.of(pattern) for pattern in patterns or ()]


def _check_plan(job: Job) -> None:
    """Report an invalid scope, or invalid fields of a pattern, with the position in list_config."""
    try:
        # The prices that a budget needs are only known when a run starts.
        plan = plan_of_job(replace(job, budget=NO_BUDGET), job.max_attempts)
        if plan.page_fields:
            check_plan_fields(plan)
    except BadInput as problem:
        if (problem.field or "").startswith("page_fields"):
            problem.field = f"list_config.{problem.field}"
        raise


def seal_proxy(text: str, policy: EgressPolicy, seal: Seal, *, field: str = "proxy_policy") -> ProxyPolicy:
    """Return the proxy as a job stores it: address in plain text, user and password sealed."""
    if is_pool_text(text):
        return ProxyPolicy(parse_pool_policy(text, field).text)
    proxy = parse_proxy(text, field)
    if proxy is None:
        return ProxyPolicy(DIRECT)
    check_literal(proxy.target, policy, field=field)
    unsealed = ProxyPolicy(proxy.address)
    credentials = credentials_text(proxy)
    return unsealed if credentials is None else replace(unsealed, sealed=seal(Secret(credentials), unsealed.bound))


def check_fields(fields: Sequence[FieldSpec]) -> None:
    if not fields:
        raise BadInput("a job needs at least one field", field="fields", hint='for example ["title"]')
    if len(fields) > MAX_FIELDS:
        raise BadInput(f"{len(fields)} fields are too many; {MAX_FIELDS} are allowed", field="fields")
    seen = set()
    for number, spec in enumerate(fields):
        name = spec.name.strip()
        if not name:
            raise BadInput("a field has a blank name", field=f"fields.{number}", hint="name it or remove it")
        if name in seen:
            raise BadInput(
                f"the field {spec.name!r} is asked for twice",
                field=f"fields.{number}",
                hint="remove one of them",
            )
        seen.add(name)
        check_selectors(spec, field=f"fields.{number}")


def check_plan_fields(plan: CrawlPlan) -> None:
    """Raise BadInput if the fields of a crawl are invalid."""
    if plan.fields:
        check_fields(plan.field_specs)
    for index, pattern in enumerate(plan.page_fields):
        try:
            check_fields(tuple(FieldSpec.of(spec) for spec in pattern["fields"]))
        except BadInput as problem:
            problem.field = f"page_fields.{index}.{problem.field}"
            raise


def check_selectors(spec: FieldSpec, *, field: str) -> None:
    """Raise BadInput if a selector cannot be compiled. The parsers are loaded with the first job."""
    from corral.extract.selectors.spec import check_spec  # noqa: PLC0415

    check_spec(spec, field=field)


def refuse_unreachable(probe: Probe) -> None:
    """Reject a target that cannot be resolved, is forbidden, or answers 5xx; accept everything else."""
    if not probe.resolved:
        raise BadInput(
            "the host of the target has no address",
            field="target_url",
            hint="check the spelling, and the name server of this machine; validate=false (--no-check) adds it anyway",
            code="unresolvable",
        )
    if isinstance(probe.failure, Failed) and probe.failure.code is FailureCode.POLICY:
        raise BadInput(
            probe.failure.message,
            field="target_url",
            hint="private and loopback targets have to be listed in APP_EGRESS_ALLOW as CIDR:port",
            code="policy",
        )
    if probe.status is not None and probe.status >= 500:
        raise BadInput(
            f"the target answers {probe.status}",
            field="target_url",
            hint="create the job when the site works again, or with validate=false (--no-check)",
            code="target_broken",
        )


def _next_slot_ms(job: Job) -> int | None:
    slot = next_slot(job.frequency, datetime.now(UTC))
    return None if slot is None else round(slot.timestamp() * 1000)
