"""Preview pages for a user who writes a job. Nothing is stored.

A preview runs in its own worker process, with the same egress and limits as a run.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from corral.domain.errors import BadInput, CannotLook, TooManyLooks
from corral.domain.fields.own_code import without_parser
from corral.domain.fields.parse import parse_field
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
from corral.engine.oneshot import draft_lease

_AT_ONCE = 2
_MAX_WAITING = 4
_MAX_SESSIONS = 200
# The number of further pages of the template on which suggestions are tried, and the time for all of them.
MORE_PAGES = 2
MORE_PAGES_S = 10.0
_FLOOR = 0.4  # factor for the confidence of a suggestion that matches no other page
SHELL = "the page is an empty shell that a script fills: look at it with prefer_browser true"
SCRIPTED = "scripts of the page probably add content to it: look at it with prefer_browser true"
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
class PreviewResult:
    """The result of a preview: the fields as a run would find them, the survey of the page, and warnings."""

    fetched_via: Strategy
    record: dict[str, Any]
    survey: dict[str, Any]
    problems: dict[str, str]  # by field: why its search was cut short

    @property
    def url(self) -> str:
        return str(self.survey["url"])

    @property
    def warnings(self) -> list[str]:
        if self.fetched_via is not Strategy.HTTP:
            return []
        if self.survey["is_shell"]:
            return [SHELL]
        return [SCRIPTED] if self.survey.get("has_script_content") else []


@dataclass(frozen=True, slots=True)
class PreviewedPage:
    """A page of the template; `values` by suggestion, `problem` if it could not be fetched."""

    url: str
    values: list[Any] = field(default_factory=list)
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class PreviewedTemplate:
    """A page, and further pages of its template. The first of `pages` is the page itself, without values."""

    preview: PreviewResult
    pages: tuple[PreviewedPage, ...]

    @property
    def _others(self) -> list[PreviewedPage]:
        return [page for page in self.pages[1:] if page.problem is None]

    def lists(self) -> list[dict[str, Any]]:
        """Return the repeated items, with the number of rows that their recipe yields on each page read."""
        first = len(self.preview.survey["suggestions"])
        return [
            {**each, "rows_on": [each["count"], *(len(page.values[first + index] or ()) for page in self._others)]}
            for index, each in enumerate(self.preview.survey["lists"])
        ]

    def suggestions(self) -> list[dict[str, Any]]:
        """Return the suggestions with their values on each page. One that matches no other page is less certain."""
        others = self._others
        rated = []
        for index, each in enumerate(self.preview.survey["suggestions"]):
            values = [each["value"], *(page.values[index] for page in others)]
            found = sum(value not in (None, "", [], {}) for value in values)
            share = (found - 1) / len(others) if others else 1.0
            confidence = round(each["confidence"] * (_FLOOR + (1 - _FLOOR) * share), 2)
            rated.append({**each, "confidence": confidence, "values": values, "found_on": found})
        return sorted(rated, key=lambda each: -each["confidence"])


def suggestion_spec(suggestion: Mapping[str, Any], index: int) -> FieldSpec:
    keys = {name: suggestion[name] for name in ("css", "xpath", "attr", "all", "regex")}
    return FieldSpec(f"s{index}", **keys)


def list_spec(proposal: Mapping[str, Any], index: int) -> FieldSpec:
    return replace(parse_field(proposal["recipe"], field="lists"), name=f"l{index}")


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
        self._pending = 0

    async def look(
        self,
        url: str,
        survey: Survey,
        fields: Sequence[FieldSpec] = (),
        *,
        prefer_browser: bool = False,
        trusted_hosts: tuple[str, ...] = (),
    ) -> PreviewResult:
        """Preview a page without a job, fetched as by a job with default options."""
        target = parse_target(url, field="url")
        check_literal(target, self._policy, field="url", trusted_hosts=frozenset(trusted_hosts))
        strategy = Strategy.BROWSER if prefer_browser else Strategy.HTTP
        payload = SurveyPayload(url=target.url, fields=tuple(fields), survey=survey, trusted_hosts=trusted_hosts)
        return await self._look(payload, strategy, field="url")

    async def look_at_template(
        self,
        url: str,
        *,
        prefer_browser: bool = False,
        click: FieldSpec | None = None,
        trusted_hosts: tuple[str, ...] = (),
    ) -> PreviewedTemplate:
        """Preview a page, or its element named by `click`, and try the suggestions on more pages of its template."""
        survey, fields = (Survey.PAGE, ()) if click is None else (Survey.CLICK, (click,))
        preview = await self.look(url, survey, fields, prefer_browser=prefer_browser, trusted_hosts=trusted_hosts)
        if click is not None and preview.survey["clicked"] is None:
            hint = (
                preview.warnings[0] if preview.warnings else "take it from the page as it is fetched: see html_snippet"
            )
            raise BadInput("nothing on the page matches it", field="click", hint=hint, code="no_match")
        specs = [suggestion_spec(each, index) for index, each in enumerate(preview.survey["suggestions"])]
        specs += [list_spec(each, index) for index, each in enumerate(preview.survey["lists"])]
        pages = [PreviewedPage(preview.url)]
        ends_at = time.monotonic() + MORE_PAGES_S
        for sibling in preview.survey["siblings"] if specs else ():
            if sum(page.problem is None for page in pages) > MORE_PAGES or (left_s := ends_at - time.monotonic()) <= 0:
                break
            pages.append(await self._try_on(sibling, specs, preview.fetched_via, left_s, trusted_hosts))
        return PreviewedTemplate(preview, tuple(pages))

    async def _try_on(
        self, url: str, specs: list[FieldSpec], strategy: Strategy, timeout_s: float, trusted_hosts: tuple[str, ...]
    ) -> PreviewedPage:
        """Try the suggestions on a page. Each page is a separate visit: robots.txt, host pace and slots apply."""
        payload = SurveyPayload(url=url, fields=tuple(specs), survey=Survey.MATCHES, trusted_hosts=trusted_hosts)
        budget_s = min(timeout_s, self._timeouts_s[strategy]) + READING_S
        async with self._looking:
            outcome = await self._execute(draft_lease(SURVEY, payload, strategy, None), budget_s)
        if isinstance(outcome, Failed | Deferred):
            return PreviewedPage(url, problem=outcome.message)
        record, survey = outcome.records
        return PreviewedPage(str(survey["url"]), [record[spec.name] for spec in specs])

    async def look_for_job(
        self, job_id: str, fields: Sequence[FieldSpec] | None, *, prefer_browser: bool = False
    ) -> tuple[tuple[FieldSpec, ...], PreviewResult]:
        """Preview the job's target as a run would, for these fields or those of the job."""
        job = (await self._store.jobs.get(job_id)).job
        specs = without_parser(job.fields) if fields is None else tuple(fields)
        needs_browser = prefer_browser or job.requires_auth or job.strategy is Strategy.BROWSER
        strategy = Strategy.BROWSER if needs_browser else Strategy.HTTP
        payload = replace(SurveyPayload.of_job(job), fields=specs, survey=Survey.MATCHES)
        session = await self._session_of(job) if job.requires_auth else None
        timeout_s = job.timeout_s or self._timeouts_s[strategy]
        preview = await self._look(payload, strategy, field=None, session=session, timeout_s=timeout_s)
        return specs, preview

    async def fetch_page(self, job: Job, strategy: Strategy) -> tuple[Strategy, dict[str, Any]]:
        """Fetch the target of an unsaved job as a run would, and return the page itself.

        `auto` uses the browser if the page is an empty shell that a script fills.
        """
        payload = replace(SurveyPayload.of_job(job), survey=Survey.RECORDING)
        is_auto = strategy is Strategy.AUTO
        chosen = Strategy.HTTP if is_auto else strategy
        page = (await self._look(payload, chosen, field="url", timeout_s=job.timeout_s)).survey
        if is_auto and page["is_shell"] and Strategy.BROWSER in self._offers:
            chosen = Strategy.BROWSER
            page = (await self._look(payload, chosen, field="url", timeout_s=job.timeout_s)).survey
        return chosen, page

    async def _session_of(self, job: Job) -> SealedSession | None:
        """Return the session that a run would get."""
        sessions = await self._store.sessions.newest(job.id, None, _MAX_SESSIONS)
        newest = max(sessions, key=lambda each: (each.updated_at, each.id), default=None)
        return None if newest is None else await self._store.sessions.get_sealed(newest.id)

    async def _look(
        self,
        payload: SurveyPayload,
        strategy: Strategy,
        *,
        field: str | None,
        session: SealedSession | None = None,
        timeout_s: float | None = None,
    ) -> PreviewResult:
        if strategy not in self._offers:
            raise BadInput(
                "this installation has no browser", field="prefer_browser", hint=NO_BROWSER, code="strategy_unavailable"
            )
        budget_s = (timeout_s or self._timeouts_s[strategy]) + READING_S
        outcome = await self._in_turn(draft_lease(SURVEY, payload, strategy, session), budget_s)
        if isinstance(outcome, Failed | Deferred):
            raise _explain_failure(outcome, field)
        record, survey = outcome.records
        return PreviewResult(strategy, record, survey, outcome.stats.get("problems") or {})

    async def _in_turn(self, lease: Lease, timeout_s: float) -> Outcome:
        """Limit running and waiting previews: each needs a process, and a user waits for it."""
        if self._pending >= _AT_ONCE + _MAX_WAITING:
            raise TooManyLooks
        self._pending += 1
        try:
            async with self._looking:
                return await self._execute(lease, timeout_s)
        finally:
            self._pending -= 1


def _explain_failure(failure: Failed | Deferred, field: str | None) -> BadInput | CannotLook:
    """Convert the failure of a preview to an error, with the codes of a run."""
    # The host limiter or this installation is at fault, not the input.
    if isinstance(failure, Deferred) or failure.detail in _OURS or failure.code is FailureCode.WORKER_LOST:
        return CannotLook(f"the page could not be previewed: {failure.message}", hint="try again in a moment")
    detail = failure.detail or ""
    code = "unresolvable" if (failure.code, detail) == (FailureCode.NETWORK, "dns") else failure.code.value
    hint = _HINTS.get(detail) or _HINTS.get(failure.code) or "open the address in a browser, or try again later"
    return BadInput(failure.message, field=field, hint=hint, code=code)
