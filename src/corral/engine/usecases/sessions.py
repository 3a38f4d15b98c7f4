"""Sessions of jobs: sealed here, opened only in a worker; and the runs that wait for one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from corral.domain.errors import BadInput, JobNotFound, SessionChanged
from corral.domain.jobs.job import Job, Strategy
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import Intervention, InterventionKind
from corral.domain.runs.outcome import Deferred, Failed, Outcome
from corral.domain.runs.payload.page import PagePayload, with_login
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import PAGE, Lease, Run
from corral.domain.runs.strategy import resolve
from corral.domain.sites.session import (
    DEFAULT_NAME,
    CheckResult,
    NewSession,
    SealedSession,
    SessionInfo,
    SessionState,
    parse_session,
)
from corral.engine.oneshot import draft_lease
from corral.engine.worker.kinds.registry import find_kind
from corral.runtime.new_ids import new_id
from corral.secrets.vault import Keyring, SealBroken, Vault, check_keys

_TRIES = 5
_BATCH = 100
_CHECKS_AT_ONCE = 2
# Interventions that a user may resolve by correcting the job or adding a session.
_ABOUT_THE_PAGE = frozenset({InterventionKind.CAPTCHA, InterventionKind.MISSING_FIELD})
_CHECK_S = 30.0
_DEAD = frozenset({"session_expired", "auth_state_invalid"})

Look = Callable[[Lease, float], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class SessionDraft:
    """A login as the user provides it."""

    cookies: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    storage: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    name: str = DEFAULT_NAME


@dataclass(frozen=True, slots=True)
class SessionCheck:
    result: CheckResult
    reason: str
    http_status: int | None
    strategy: str


@dataclass(frozen=True, slots=True)
class Rotation:
    kid: str
    rewrapped: int
    broken: tuple[str, ...]  # the sessions, jobs, proxies and alert channels that cannot be decrypted
    unused: tuple[str, ...]  # keys that are no longer in use


class Sessions:
    def __init__(
        self,
        store: EngineStore,
        vault: Vault,
        look: Look,
        offers: frozenset[Strategy],
        *,
        wake: Waker = lambda *_: None,
    ) -> None:
        self._store = store
        self._vault = vault
        self._look = look
        self._offers = offers
        self._wake = wake
        self._looking = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def put(
        self, job_id: str, draft: SessionDraft, key: IdempotencyKey | None = None
    ) -> tuple[SessionInfo, bool]:
        """Store a session, replacing one of the same name.

        For an idempotency key used before, return the earlier session and True.
        """
        job = (await self._store.jobs.get(job_id)).job
        state = _state(job, draft)
        for _ in range(_TRIES):
            try:
                session_id, replayed = await self._store.sessions.put(
                    await self._seal_session(job, state, draft.name), key
                )
            except SessionChanged:
                continue
            return await self._store.sessions.get(session_id), replayed
        raise SessionChanged

    def seal_for_crawl(self, url: str, draft: SessionDraft) -> SealedSession:
        """Seal a login for one crawl without a job."""
        state = parse_session(url, draft.cookies, draft.storage, draft.headers, takes_headers_alone=True)
        return self._vault.keys_to_seal().seal(state, job_id="crawl", session_id=new_id(), version=1)

    async def resolve(
        self, intervention_id: str, draft: SessionDraft | None, note: Mapping[str, str] | None = None
    ) -> tuple[Intervention, Run]:
        """Resume a run that waited for a person, with the given session or the newest one.

        `note` records in the run's event who resumed it and why.
        """
        waiting = await self._store.interventions.get(intervention_id)
        state = None
        job = None if waiting.job_id is None else await self._job(waiting.job_id)
        if draft is not None:
            if job is None:
                raise BadInput("a run without a job has no session", field="session")
            state = _state(job, draft)
        if job is not None and waiting.kind in _ABOUT_THE_PAGE:
            run = await self._store.runs.get(waiting.run_id)
            resumed = find_kind(run.kind).resume(run.payload, job)
            if draft is not None:
                resumed = with_login(resumed)
            await self._store.runs.replace_held_payload(waiting.run_id, resumed)
        for _ in range(_TRIES):
            new = await self._seal_session(job, state, draft.name) if draft and job and state else None
            try:
                resolved = await self._store.interventions.resolve(intervention_id, new, note)
            except SessionChanged:
                continue
            self._wake(resolved[1])
            return resolved
        raise SessionChanged

    async def _job(self, job_id: str) -> Job | None:
        try:
            return (await self._store.jobs.get(job_id)).job
        except JobNotFound:
            return None

    async def check(self, session_id: str) -> SessionCheck:
        """Request the job's target with this session, in an extra worker, and store the result with the session."""
        sealed = await self._store.sessions.get_sealed(session_id)
        job = (await self._store.jobs.get(sealed.job_id)).job
        strategy = resolve(job, job.strategy, None).strategy
        if strategy not in self._offers:
            strategy = Strategy.HTTP
        async with self._looking:
            outcome = await self._look(_visit(job, strategy, sealed), job.timeout_s or _CHECK_S)
        checked = _judge(outcome, strategy)
        await self._store.sessions.note_check(session_id, sealed.version, checked.result)
        return checked

    async def rotate(self) -> Rotation:
        """Encrypt every session, proxy and alert channel with the newest key; with a vault file, create that key now.

        The previous key stays in the file: another process may be sealing with it right now.
        """
        keys = self._vault.keys_to_seal()
        if self._vault.is_file:
            keys = keys.with_new()
            self._vault.keep(keys)
        newest, moved, broken, after = keys.kids[0], 0, [], ""
        while batch := await self._store.sessions.list_under_other_keys(newest, after, _BATCH):
            after = batch[-1].id
            for sealed in batch:
                try:
                    moved += await self._store.sessions.rewrap(keys.rewrap(sealed), sealed.kid)
                except SealBroken:
                    broken.append(f"session {sealed.id}")
        moved_proxies, broken_jobs = await self._rotate_proxies(keys)
        moved_pool, broken_pool = await self._rotate_pool(keys)
        moved_channels, broken_channels = await self._rotate_channels(keys)
        moved += moved_proxies + moved_pool + moved_channels
        broken += [*broken_jobs, *broken_pool, *broken_channels]
        used = await self._store.sessions.count_keys()
        unused = tuple(kid for kid in keys.kids[1:] if kid not in used)
        if self._vault.is_file:
            self._vault.keep(keys.without(kid for kid in keys.kids[2:] if kid in unused))
        return Rotation(newest, moved, tuple(broken), unused)

    async def _rotate_proxies(self, keys: Keyring) -> tuple[int, list[str]]:
        """Seal the proxies of jobs with the newest key; return how many, and the jobs that cannot be decrypted."""
        moved, after = 0, ""
        broken: list[str] = []
        while batch := await self._store.jobs.list_under_other_keys(keys.kids[0], after, _BATCH):
            after = batch[-1].id
            for job in batch:
                if job.proxy is None or job.proxy.sealed is None:
                    continue
                try:
                    text = keys.open_text(job.proxy.sealed, job.proxy.bound)
                except SealBroken:
                    broken.append(f"job {job.id}")
                    continue
                resealed = replace(job.proxy, sealed=keys.seal_text(text, job.proxy.bound))
                # A concurrent change of the job uses the newest key anyway.
                moved += await self._store.jobs.update(job, replace(job, proxy=resealed), None)
        return moved, broken

    async def _rotate_pool(self, keys: Keyring) -> tuple[int, list[str]]:
        """Seal the proxies of the pool with the newest key, as `_rotate_proxies` does."""
        moved, after = 0, 0
        broken: list[str] = []
        while batch := await self._store.proxies.list_under_other_keys(keys.kids[0], after, _BATCH):
            after = batch[-1].id
            for proxy in batch:
                assert proxy.sealed is not None
                try:
                    text = keys.open_text(proxy.sealed, proxy.policy.bound)
                except SealBroken:
                    broken.append(f"proxy {proxy.id}")
                    continue
                sealed = keys.seal_text(text, proxy.policy.bound)
                moved += await self._store.proxies.reseal(proxy.id, proxy.sealed, sealed)
        return moved, broken

    async def _rotate_channels(self, keys: Keyring) -> tuple[int, list[str]]:
        """Seal the channels of alerts with the newest key, as `_rotate_proxies` does."""
        moved, broken = 0, list[str]()
        for channel in await self._store.alerts.channels():
            if channel.kid == keys.kids[0]:
                continue
            try:
                text = keys.open_text(channel.sealed, channel.bound)
            except SealBroken:
                broken.append(f"alert channel {channel.name}")
                continue
            sealed = keys.seal_text(text, channel.bound)
            moved += await self._store.alerts.reseal(channel.name, channel.sealed, sealed)
        return moved, broken

    async def _seal_session(self, job: Job, state: SessionState, name: str) -> NewSession:
        session_id, version = await self._store.sessions.find(job.id, name) or (new_id(), 0)
        # Do not replace a key that was lost at run time: a new key could not decrypt any stored session.
        check_keys(self._vault.keys(), await self._store.sessions.count_keys(), self._vault.location)
        keys = self._vault.keys_to_seal()
        sealed = keys.seal(state, job_id=job.id, session_id=session_id, version=version + 1)
        return NewSession(sealed, name, state.about())


def _state(job: Job, draft: SessionDraft) -> SessionState:
    return parse_session(job.target_url, draft.cookies, draft.storage, draft.headers)


def _visit(job: Job, strategy: Strategy, sealed: SealedSession) -> Lease:
    """Return the lease of a login check. It ignores robots.txt, because it collects nothing; runs obey it."""
    payload = replace(PagePayload.of_job(job), requires_auth=True, respect_robots=False)
    return draft_lease(PAGE, payload, strategy, sealed, job.id)


def _judge(outcome: Outcome, strategy: Strategy) -> SessionCheck:
    if isinstance(outcome, Deferred):
        return SessionCheck(CheckResult.UNKNOWN, outcome.message, None, strategy)
    status = outcome.stats.get("http_status")
    if not isinstance(outcome, Failed):
        return SessionCheck(CheckResult.VALID, "the target answered without asking for a login", status, strategy)
    result = CheckResult.DEAD if outcome.detail in _DEAD else CheckResult.UNKNOWN
    return SessionCheck(result, outcome.message, outcome.http_status or status, strategy)
