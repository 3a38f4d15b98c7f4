"""Preview pages for a user who writes a job. Nothing is stored.

A preview runs in its own worker process, with the same egress and limits as a run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from corral.domain.errors import BadInput, CannotLook, TooManyLooks
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import Job, Strategy
from corral.domain.jobs.survey import READING_S, Survey
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.url import parse_target
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Outcome
from corral.domain.runs.payload.survey import SurveyPayload
from corral.domain.runs.run import SURVEY, Lease
from corral.domain.sites.session import SealedSession
from corral.engine.oneshot import errand

_AT_ONCE = 2
_MAX_WAITING = 4
_MAX_SESSIONS = 200
SHELL = "the page is an empty shell that a script fills: look at it with prefer_browser true"
# Internal reasons: the caller cannot fix them, and they may be temporary.
_OURS = frozenset({"bug", "errand", "parser_launch", "browser_launch"})
_HINTS = {
    "dns": "check the spelling, and the name server of this machine",
    "egress": "private and loopback targets have to be listed in APP_EGRESS_ALLOW as CIDR:port",
    "robots": "robots.txt of the site asks not to fetch this page, and a job would not unless respect_robots is false",
    "no_session": "add a session with POST /jobs/sessions",
    "session_expired": "log in anew, and put the session with POST /jobs/sessions",
    "body_too_large": "raise APP_MAX_BODY_BYTES",
    "xml_dtd": "ask the site for the document without a DTD; entities are never expanded",
    "proxy": "set the job's proxy_policy to one that works",
    "blocked": "the site refuses this client; try prefer_browser true, or later",
}
NO_BROWSER = "install one with `python -m playwright install chromium`, or leave prefer_browser out"

Look = Callable[[Lease, float], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of a preview: the fields as a run would find them, the survey of the page, and warnings."""

    fetched_via: Strategy
    record: dict[str, Any]
    survey: dict[str, Any]
    problems: dict[str, str]  # by field, why the search for it was cut short

    @property
    def url(self) -> str:
        return str(self.survey["url"])

    @property
    def warnings(self) -> list[str]:
        return [SHELL] if self.survey["is_shell"] and self.fetched_via is Strategy.HTTP else []


class Previews:
    def __init__(
        self,
        store: EngineStore,
        look: Look,
        policy: EgressPolicy,
        offers: frozenset[Strategy],
        timeouts_s: Mapping[str, float],  # by strategy
    ) -> None:
        self._store = store
        self._execute = look
        self._policy = policy
        self._offers = offers
        self._timeouts_s = timeouts_s
        self._looking = asyncio.Semaphore(_AT_ONCE)
        self._asked = 0

    async def look(
        self, url: str, what: Survey, fields: Sequence[FieldSpec] = (), *, prefer_browser: bool = False
    ) -> Looked:
        """Preview a page without a job, fetched as by a job with default options."""
        target = parse_target(url, field="url")
        check_literal(target, self._policy, field="url")
        strategy = Strategy.BROWSER if prefer_browser else Strategy.HTTP
        payload = SurveyPayload(url=target.url, fields=tuple(fields), survey=what)
        return await self._look(payload, strategy, field="url")

    async def look_for_job(
        self, job_id: str, fields: Sequence[FieldSpec] | None, *, prefer_browser: bool = False
    ) -> tuple[tuple[FieldSpec, ...], Looked]:
        """Preview the job's target as a run would, for these fields or those of the job."""
        job = (await self._store.jobs.get(job_id)).job
        asked = job.fields if fields is None else tuple(fields)
        needs_browser = prefer_browser or job.requires_auth or job.strategy is Strategy.BROWSER
        strategy = Strategy.BROWSER if needs_browser else Strategy.HTTP
        payload = replace(SurveyPayload.of_job(job), fields=asked, survey=Survey.MATCHES)
        session = await self._session_of(job) if job.requires_auth else None
        timeout_s = job.timeout_s or self._timeouts_s[strategy]
        found = await self._look(payload, strategy, field=None, session=session, timeout_s=timeout_s)
        return asked, found

    async def _session_of(self, job: Job) -> SealedSession | None:
        """Return the strategy that a run would get."""
        found = await self._store.sessions.newest(job.id, None, _MAX_SESSIONS)
        newest = max(found, key=lambda each: (each.updated_at, each.id), default=None)
        return None if newest is None else await self._store.sessions.get_sealed(newest.id)

    async def _look(
        self,
        payload: SurveyPayload,
        strategy: Strategy,
        *,
        field: str | None,
        session: SealedSession | None = None,
        timeout_s: float | None = None,
    ) -> Looked:
        if strategy not in self._offers:
            raise BadInput(
                "this installation has no browser", field="prefer_browser", hint=NO_BROWSER, code="strategy_unavailable"
            )
        budget_s = (timeout_s or self._timeouts_s[strategy]) + READING_S
        outcome = await self._in_turn(errand(SURVEY, payload, strategy, session), budget_s)
        if isinstance(outcome, Failed | Deferred):
            raise _explain_failure(outcome, field)
        record, survey = outcome.records
        return Looked(strategy, record, survey, outcome.stats.get("problems") or {})

    async def _in_turn(self, lease: Lease, timeout_s: float) -> Outcome:
        """Limit concurrent and waiting previews: each needs a process, and a user waits for it."""
        if self._asked >= _AT_ONCE + _MAX_WAITING:
            raise TooManyLooks
        self._asked += 1
        try:
            async with self._looking:
                return await self._execute(lease, timeout_s)
        finally:
            self._asked -= 1


def _explain_failure(failure: Failed | Deferred, field: str | None) -> BadInput | CannotLook:
    """Convert the failure of a preview to an error, with the codes of a run."""
    # The input is not at fault: the host limiter, or this installation, is.
    if isinstance(failure, Deferred) or failure.detail in _OURS or failure.code is FailureCode.WORKER_LOST:
        return CannotLook(f"the page could not be looked at: {failure.message}", hint="try again in a moment")
    detail = failure.detail or ""
    code = "unresolvable" if (failure.code, detail) == (FailureCode.NETWORK, "dns") else failure.code.value
    hint = _HINTS.get(detail) or _HINTS.get(failure.code) or "open the address in a browser, or try again later"
    return BadInput(failure.message, field=field, hint=hint, code=code)
