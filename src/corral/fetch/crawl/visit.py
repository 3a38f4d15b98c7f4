"""One page of a crawl, over HTTP: allowed by robots.txt, fetched, read apart, turned into a record and into links."""

import functools
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from corral.domain.crawl.crawl import (
    EMPTY_LIST_PAGE,
    LINK_LIMIT,
    LIST_LIMIT,
    LISTING,
    META_REFRESH,
    NO_FIELDS,
    NOINDEX,
    SHELL,
    VALUE_CUT,
    CrawlPlan,
    ItemState,
)
from corral.domain.crawl.item import PAGE, Change, Ended, Found, Item, Seen, listing_place, short_key
from corral.domain.crawl.item_decision import is_of_page
from corral.domain.crawl.job_pages import ITEM_LINKS, PAGINATION, Listing
from corral.domain.crawl.page_archive import page_document
from corral.domain.crawl.scope import Refusal
from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import NO_GATES, Gates, Visit
from corral.domain.jobs.job import FieldSpec
from corral.domain.net.canonical import canonical_url, url_key
from corral.domain.net.url import Target, parse_target
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome, Task
from corral.domain.runs.retry import VALUE_CUT as CUT_PROBLEM
from corral.extract.crawl_page import CrawlAsk
from corral.extract.links import header_directives
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.answer_check import failure_read
from corral.fetch.crawl.conditional_requests import change_of, conditions, version_of
from corral.fetch.crawl.files import FileKeeper, is_file
from corral.fetch.crawl.sitemaps import SitemapVisitor
from corral.fetch.egress.client import Egress
from corral.fetch.faults import fault
from corral.fetch.http import fields_of
from corral.fetch.parsing.pool import PageReader
from corral.fetch.proxy.route import RunRoute
from corral.fetch.response import Response
from corral.fetch.robots import Robots, without_rules
from corral.fetch.sessions import credentials_of

_MAX_PLANS = 64
_OK = 200
_NOT_MODIFIED = 304
_SCRIPT_S = 5.0
_SCRIPT_BYTES = 1024 * 1024
_SENT_ON_S = 2.0  # nobody reads a page that is left sooner
_WELL: Outcome = Fetched()


class HttpVisitor:
    def __init__(
        self,
        egress: Egress,
        robots: Robots,
        reader: PageReader,
        page_s: float = 20.0,
        *,
        gates: Gates = NO_GATES,
        files: FileKeeper | None = None,
    ) -> None:
        self._gates = gates
        self._files = files or FileKeeper(None, egress.limits.max_bytes)
        self._page_s = page_s
        self._plans: dict[int, tuple[CrawlPlan, str]] = {}
        self._egress = egress
        self._robots = robots
        self._reader = reader
        self._sitemaps = SitemapVisitor(egress, robots, reader, page_s)

    async def visit(self, item: Item, plan: CrawlPlan, task: Task, via: RunRoute | None = None) -> Ended | Failed:
        """`task` has the login of the crawl, open; `via` leads through its proxy, or takes any certificate."""
        turn, outcome = self._gates.visit(plan.concurrency, task.order), None
        try:
            ended = await self._visited(item, plan, task, turn, via)
            outcome = ended if isinstance(ended, Failed) else _WELL
            return ended
        finally:
            # Tried again, a page that the host refuses says nothing new of the host.
            is_old_news = item.attempt > 1 and isinstance(outcome, Failed) and is_of_page(outcome)
            turn.end(None if is_old_news else outcome)

    async def _visited(
        self, item: Item, plan: CrawlPlan, task: Task, turn: Visit, via: RunRoute | None
    ) -> Ended | Failed:
        began = time.monotonic()
        listing = listing_place(item.kind)
        if item.kind != PAGE and listing is None:
            return await self._sitemaps.visit(item, plan, task, turn, via)
        try:
            target = parse_target(item.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        trusted_hosts = frozenset(task.payload.get("trusted_hosts") or ())
        is_last = item.attempt >= plan.retry_attempts
        refusal = functools.partial(self._refusal, trusted_hosts=trusted_hosts, turn=turn, via=via, is_last=is_last)
        if plan.respect_robots and (refused := await refusal(target)) is not None:
            return refused

        async def allows(following: Target) -> Failed | None:
            rule = None if following.host == target.host else plan.scope.refuses(canonical_url(following), item.depth)
            if rule is Refusal.OUT_OF_SCOPE:
                return fault("policy:out_of_scope", following.origin)
            return await refusal(following) if plan.respect_robots else None

        fetched = functools.partial(
            self._egress.fetch,
            target.url,
            timeout_s=self._page_s,
            trusted_hosts=trusted_hosts,
            visit=turn,
            allows=allows,
            body_limit=self._files.body_limit(plan),
            credentials=functools.partial(credentials_of, task),
            via=via,
        )
        answer = await fetched(headers={**headers_of(plan), **conditions(item)})
        if isinstance(answer, Response) and answer.status == _NOT_MODIFIED and answer.chain:
            # Not the page that is known: its record is another one's.
            answer = await fetched(headers=headers_of(plan))
        if isinstance(answer, Failed):
            is_outside = answer.detail == Refusal.OUT_OF_SCOPE
            return Ended(item.id, item.key, ItemState.SKIPPED, Refusal.OUT_OF_SCOPE) if is_outside else answer
        if answer.status == _NOT_MODIFIED and item.known is not None:
            ended = Ended(item.id, item.key, ItemState.DONE, http_status=answer.status, size=answer.raw_bytes)
            return ended._replace(version=item.known, change=Change.UNCHANGED)
        if is_file(answer.headers, answer.body):
            tags = (value for name, value in answer.headers if name == "x-robots-tag")
            noindex, _ = header_directives(tags, self._egress.user_agent)
            return await self._files.ended(item, plan, answer, _crawl_id(task), noindex=noindex)
        return await self._read(item, plan, answer, self.ask(item, plan, task, began), began)

    async def script(self, url: str, plan: CrawlPlan, task: Task, via: RunRoute | None) -> str:
        """The text of a script file, or nothing: it is looked at, never run."""
        turn = self._gates.visit(plan.concurrency)
        trusted_hosts = frozenset(task.payload.get("trusted_hosts") or ())
        try:
            target = parse_target(url)
            asks = self._robots.refusal if plan.respect_robots else None
            if asks is not None and await asks(target, trusted_hosts=trusted_hosts, via=via, visit=turn) is not None:
                return ""
            answer = await self._egress.fetch(
                target.url,
                timeout_s=_SCRIPT_S,
                max_bytes=_SCRIPT_BYTES,
                truncate=True,
                trusted_hosts=trusted_hosts,
                headers=headers_of(plan),
                credentials=functools.partial(credentials_of, task),
                via=via,
                visit=turn,
            )
        except BadInput:
            return ""
        finally:
            turn.end(None)
        if isinstance(answer, Failed) or answer.status != _OK:
            return ""
        return answer.body.decode("utf-8", "replace")

    def ask(self, item: Item, plan: CrawlPlan, task: Task, began: float) -> CrawlAsk:
        """What is asked of the page of an item."""
        packed, listing = self._packed(plan, task), listing_place(item.kind)
        return CrawlAsk(packed, item.depth, item.attempt, began, 0, listing, self._egress.user_agent)

    def _packed(self, plan: CrawlPlan, task: Task) -> str:
        """The plan of a crawl that is under way is always the same object, and never changes."""
        known = self._plans.get(id(plan))
        if known is None:
            while len(self._plans) >= _MAX_PLANS:
                del self._plans[next(iter(self._plans))]
            known = self._plans[id(plan)] = (plan, orjson.dumps(task.payload["crawl"]).decode())
        return known[1]

    async def refusal(self, item: Item, plan: CrawlPlan, task: Task, via: RunRoute | None = None) -> Failed | None:
        """Why robots.txt keeps us from the page of an item, for who gets it by another way."""
        try:
            target = parse_target(item.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        trusted_hosts = frozenset(task.payload.get("trusted_hosts") or ())
        turn, is_last = self._gates.visit(plan.concurrency, task.order), item.attempt >= plan.retry_attempts
        try:
            return await self._refusal(target, trusted_hosts=trusted_hosts, turn=turn, via=via, is_last=is_last)
        finally:
            turn.end(None)

    async def _refusal(
        self, target: Target, trusted_hosts: frozenset[str], turn: Visit, via: RunRoute | None, *, is_last: bool
    ) -> Failed | None:
        """A site that cannot say what it allows allows nothing to somebody who wants all of it."""
        verdict = await self._robots.verdict(target, trusted_hosts=trusted_hosts, via=via, visit=turn)
        if not verdict.is_reachable:
            return without_rules(target, verdict.failure, is_last=is_last)
        return await self._robots.refusal(target, trusted_hosts=trusted_hosts, via=via, visit=turn)

    async def _read(self, item: Item, plan: CrawlPlan, answer: Response, ask: CrawlAsk, began: float) -> Ended | Failed:
        asked_url = answer.chain[0] if answer.chain else answer.url
        fields = fields_wanted(plan, ask)
        request = ReadRequest(answer.body, answer.url, asked_url, answer.status, answer.headers, fields, crawl=ask)
        left_s = self._page_s - (time.monotonic() - began)
        read = await self._reader.read(request, max(0.0, left_s))
        if isinstance(read, Failed):
            return read
        return failure_read(read, {}) or ended_of(item, plan, answer, read, ask)


def headers_of(plan: CrawlPlan) -> dict[str, str]:
    return {} if plan.user_agent is None else {"user-agent": plan.user_agent}


def _crawl_id(task: Task) -> str:
    """Of the crawl itself, also where this is a helper."""
    return str(task.payload.get("crawl_run", task.run_id))


def fields_wanted(plan: CrawlPlan, ask: CrawlAsk) -> tuple[FieldSpec, ...]:
    """Of a list page its links, of any other what the plan asks for."""
    if ask.listing is not None and plan.listing is not None:
        return Listing.of(plan.listing).fields
    return fields_of({"fields": plan.fields})


def ended_of(
    item: Item, plan: CrawlPlan, answer: Response, read: ReadAnswer, ask: CrawlAsk, *, is_rendered: bool = False
) -> Ended | Failed:
    """What becomes of a page that was fetched, by whichever way, and read. Once its scripts have run it is no shell."""
    if ask.listing is not None:
        return _listed(item, plan.listing or {}, answer, read, is_first=ask.listing[0] == 1)
    if (sent_on := _sent_on(item, answer, read)) is not None:
        return sent_on
    has_none = plan.only_fields and len(read.missing) == len(plan.fields)
    if has_none and plan.listing is not None:
        names = ", ".join(read.missing)
        stats = {"needs_scripts": needs_scripts(read)}
        return Failed(FailureCode.EXTRACTION, f"not found on the page: {names[:500]}", "fields_missing", stats=stats)
    if plan.listing is not None:
        # Nobody asked for what an item leads to; and where it leads back to the list, it is no item.
        read = replace(read, crawled={**(read.crawled or {}), "found": []})
        if answer.chain and canonical_url(parse_target(answer.url)) in plan.scope.starts:
            return Failed(FailureCode.EXTRACTION, "it redirects to the list itself", "redirected_to_list")
    is_shell = bool((read.crawled or {}).get("is_shell")) and not is_rendered
    ended = _ended(item, plan, answer, read, is_shell=is_shell)
    if has_none and ended.state is ItemState.DONE and not is_shell:
        return ended._replace(state=ItemState.SKIPPED, reason=NO_FIELDS, record=None)
    return ended


def needs_scripts(read: ReadAnswer) -> bool:
    """What was asked for is not on the page, and its scripts might bring it."""
    return bool((read.crawled or {}).get("has_scripts"))


def _listed(
    item: Item, config: Mapping[str, Any], answer: Response, read: ReadAnswer, *, is_first: bool
) -> Ended | Failed:
    seen = read.crawled or {}
    if (sent_on := _sent_on(item, answer, read)) is not None:
        return sent_on
    if is_first and not seen.get("listed"):
        told = f"item_links ({_selector_of(config)}) matches no link on the first page of the list"
        told += "; its scripts were not run, strategy auto or browser runs them" if needs_scripts(read) else ""
        return Failed(FailureCode.EXTRACTION, told, "item_links", stats={"needs_scripts": needs_scripts(read)})
    found = tuple(Found(*each) for each in seen.get("found", ()))
    said = f"{seen.get('listed', 0)} items; {'another page follows' if seen.get('has_next') else 'the last page'}"
    rule, said = _rule_of_list(config, seen, said)
    ended = Ended(item.id, item.key, ItemState.SKIPPED, rule, said, found=found, http_status=answer.status)
    # Where nobody said how the list goes on, scrolling may.
    loads_more = bool(seen.get("loads_more")) or (config.get(PAGINATION) is None and needs_scripts(read))
    return ended._replace(
        size=answer.raw_bytes, seen=Seen(loads_more=loads_more, scripts=tuple(seen.get("scripts", ())))
    )


def _selector_of(config: Mapping[str, Any]) -> str:
    links = config.get(ITEM_LINKS) or {}
    return str(links.get("css") or links.get("xpath"))[:200]


def _rule_of_list(config: Mapping[str, Any], seen: Mapping[str, Any], said: str) -> tuple[str, str]:
    """By which rule a list page counts as read, and what is said of it."""
    bound = seen.get("cut_by")
    if bound is not None and bound not in config:
        return LIST_LIMIT, f"{said}; the list goes on, and {bound} of list_config was left at its default"
    if seen.get("has_next") and not seen.get("listed"):
        return EMPTY_LIST_PAGE, f"item_links ({_selector_of(config)}) matches no link here, and another page follows"
    return LISTING, said


def _sent_on(item: Item, answer: Response, read: ReadAnswer) -> Ended | None:
    """The end of a page that nobody sees, because it sends its reader to another one at once; None for any other."""
    delay_s, target = (read.crawled or {}).get("refresh") or (_SENT_ON_S, None)
    if target is None or delay_s >= _SENT_ON_S:
        return None
    there = Found(*target)
    said = f"it sends its reader to {there.url}" + (f", which is {there.reason}" if there.reason else "")
    found = (there, *(Found(*each) for each in (read.crawled or {}).get("found", ()) if each[1] != there.key))
    ended = Ended(item.id, item.key, ItemState.SKIPPED, META_REFRESH, said, found=found, http_status=answer.status)
    return ended._replace(size=answer.raw_bytes, seen=Seen(is_sent_on=True))


def _ended(item: Item, plan: CrawlPlan, answer: Response, read: ReadAnswer, *, is_shell: bool) -> Ended:
    seen: dict[str, Any] = read.crawled or {}
    key = item.key
    if answer.chain:
        target = parse_target(answer.url)
        key = short_key(url_key(target, plan.counting_params))
        if (rule := plan.scope.refuses(canonical_url(target), item.depth)) is not None:
            return Ended(item.id, key, ItemState.SKIPPED, rule, http_status=answer.status, size=answer.raw_bytes)
    found = _found(seen)
    if seen.get("is_noindex") and plan.obey_noindex:
        ended = Ended(item.id, key, ItemState.SKIPPED, NOINDEX, http_status=answer.status, size=answer.raw_bytes)
        return ended._replace(found=found, dropped=seen.get("dropped", 0), seen=_seen(seen))
    reason, said = _left_out_of(seen, read, is_shell=is_shell)
    version = version_of(seen.get("digest", ""), answer)
    change = change_of(item, version) if plan.since is not None else None
    return Ended(
        item.id,
        key,
        ItemState.DONE,
        reason,
        said,
        record=_with_change(seen.get("record"), change),
        found=found,
        http_status=answer.status,
        size=answer.raw_bytes,
        page=_kept(answer) if plan.keep_pages else None,
        version=version,
        change=change,
        dropped=seen.get("dropped", 0),
        seen=_seen(seen),
    )


def _left_out_of(seen: dict[str, Any], read: ReadAnswer, *, is_shell: bool) -> tuple[str | None, str | None]:
    """The rule of ours by which something of a page that was read is not in its record, and what is said of it."""
    if is_shell:
        return SHELL, "it is empty without its scripts; --strategy auto or browser runs them"
    cut = [*seen.get("cut", ()), *(name for name, problem in read.problems.items() if problem == CUT_PROBLEM)]
    said = f"cut at the limit of a value: {', '.join(cut)[:500]}" if cut else None
    if dropped := seen.get("dropped", 0):
        # A page has one reason: links lead to more than a value holds, and the record names its values that were cut.
        links = f"{dropped} of its links are not followed; APP_MAX_PAGE_LINKS allows more"
        return LINK_LIMIT, f"{links}; {said}" if said else links
    return (VALUE_CUT, said) if cut else (None, None)


def _found(seen: dict[str, Any]) -> tuple[Found, ...]:
    """Where the page leads; first to where it sends its reader after a while."""
    found = [Found(*each) for each in seen.get("found", ())]
    if seen.get("refresh") is None:
        return tuple(found)
    there = Found(*seen["refresh"][1])
    return (there, *(each for each in found if each.key != there.key))


def _with_change(packed: str | None, change: Change | None) -> str | None:
    """The record is packed already, where the page was read, and nobody knew there what it was like before."""
    if packed is None or change is None:
        return packed
    return f'{packed[:-1]},"change":"{change.value}"}}'


def _kept(answer: Response) -> dict[str, Any]:
    asked_url = answer.chain[0] if answer.chain else None
    return page_document(
        answer.url,
        asked_url,
        http_status=answer.status,
        headers=answer.headers,
        body=answer.body,
        fetched_at=round(time.time() * 1000),
    )


def _seen(told: dict[str, Any]) -> Seen:
    canonical = told.get("canonical")
    print_, words = told.get("sketch") or (None, ())
    original = None if canonical is None else Found(*canonical)
    is_sent_on = told.get("refresh") is not None
    sessions = tuple((url, key) for url, key in told.get("sessions", ()))
    scripts = tuple(told.get("scripts", ()))
    return Seen(original, print_, tuple(words), bool(told.get("loads_more")), scripts, is_sent_on, sessions)
