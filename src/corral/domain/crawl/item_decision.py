"""Decide what happens to an item of a crawl after an attempt. Pure: the decision is a value."""

from dataclasses import dataclass
from datetime import datetime

from corral.domain.crawl.crawl import CrawlPlan, ItemState
from corral.domain.crawl.item import DiscoveredLink, Item, listing_key
from corral.domain.crawl.job_pages import Listing
from corral.domain.errors import BadInput
from corral.domain.lists.counters import next_address
from corral.domain.lists.position import MAX_FAILURES, listing_kind, listing_position
from corral.domain.net.canonical import link_of
from corral.domain.net.retry_after import retry_after_s
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import (
    Deferred,
    Failed,
    FailureCode,
    Fetched,
    Outcome,
    is_proxy_fault,
    may_try_proxy_again,
)
from corral.domain.runs.retry import NEEDS_LOGIN, RETRIED, RetryPolicy, backoff_s

_PAGE_BASE_S = 2.0
_START_S = 1.0
_NEVER_BETTER = frozenset({"tls", "dns"})  # for a start URL: an immediate retry would fail in the same way
_GONE = (404, 410)
# Such an attempt says nothing about the page: the item returns to the frontier unchanged.
_NOT_COUNTED = frozenset({FailureCode.WORKER_LOST, FailureCode.CANCELLED})


@dataclass(frozen=True, slots=True)
class ItemTransition:
    to: ItemState
    due_in_s: float = 0.0
    counts_attempt: bool = True
    failure: Failed | None = None


def decide_item(
    attempt: int,
    outcome: Outcome,
    plan: CrawlPlan,
    now: datetime,
    *,
    key: str,
    policy: RetryPolicy | None = None,
    is_start: bool = False,
    proxy_faults: int = 0,
) -> ItemTransition:
    """Decide the next state of an item.

    `attempt` is the attempt that just ended, from 1; the item's key makes its jitter repeatable. A start URL is not
    retried for long: a dead address is reported at once. `proxy_faults` are earlier ones of this item.
    """
    if isinstance(outcome, Fetched):
        return ItemTransition(ItemState.DONE)
    if isinstance(outcome, Deferred):
        return ItemTransition(ItemState.PENDING, due_in_s=outcome.seconds, counts_attempt=False)
    if outcome.code in _NOT_COUNTED:
        return ItemTransition(ItemState.PENDING, counts_attempt=False, failure=outcome)
    if may_try_proxy_again(outcome, proxy_faults, plan.retry_attempts + 1):
        return ItemTransition(ItemState.PENDING, due_in_s=_START_S, counts_attempt=False, failure=outcome)
    if is_proxy_fault(outcome):
        return ItemTransition(ItemState.FAILED, failure=outcome)
    policy = policy or RetryPolicy()
    requested_s = retry_after_s(outcome.retry_after, now)
    # If the host requests a pause of an hour or more, the item fails: `retry_after_s` cuts longer values to an hour.
    is_sent_away = requested_s is not None and requested_s >= policy.max_wait_s
    is_dead = is_start and outcome.code is FailureCode.NETWORK and outcome.detail in _NEVER_BETTER
    if attempt >= plan.retry_attempts or not _may_retry(outcome) or is_sent_away or is_dead:
        return ItemTransition(ItemState.FAILED, failure=outcome)
    wait_s = requested_s if requested_s is not None else backoff_s(policy, attempt, seed=key)
    if is_start and outcome.code is FailureCode.NETWORK:
        wait_s = min(wait_s, _START_S)
    elif requested_s is None and is_of_page(outcome):
        # The host answers, so one failing page does not justify the long pause of a host in trouble.
        wait_s = min(wait_s, _PAGE_BASE_S * policy.factor ** (attempt - 1))
    return ItemTransition(ItemState.PENDING, due_in_s=wait_s, failure=outcome)


def is_of_page(failure: Failed) -> bool:
    """True if the host answered and did not report overload: the failure may concern only this page."""
    is_answered = failure.http_status is not None and failure.http_status not in (429, 503)
    return is_answered and failure.code in (FailureCode.BLOCKED, FailureCode.BAD_RESPONSE)


def _may_retry(failure: Failed) -> bool:
    if failure.code is FailureCode.BLOCKED and failure.detail in NEEDS_LOGIN:
        return False
    if failure.code is FailureCode.BAD_RESPONSE:
        return failure.http_status is not None and failure.http_status >= 500
    return failure.code in RETRIED


def is_end_of_list(item: Item, failure: Failed) -> bool:
    """True if a list page is missing whose number was only guessed: the list ended before it."""
    position = listing_position(item.kind)
    return position is not None and position.is_guess and failure.http_status in _GONE


def follow_failed_list_page(item: Item, plan: CrawlPlan) -> tuple[DiscoveredLink, ...]:
    """Return the numbered list page after a failed one: one failed page must not lose all later ones."""
    position = listing_position(item.kind)
    if position is None or plan.listing is None or not position.step or position.failures >= MAX_FAILURES:
        return ()
    listing = Listing.of(plan.listing)
    url = next_address(item.url, position.slot, position.step)
    if url is None or position.number >= listing.max_pages or position.named >= listing.max_items:
        return ()
    try:
        target = parse_target(url)
    except BadInput:
        return ()
    link = link_of(target, plan.counting_params)
    kind = listing_kind(position._replace(number=position.number + 1, failures=position.failures + 1, is_guess=True))
    reason = plan.scope.refuses(link.url, 0)
    return (DiscoveredLink(link.url, listing_key(link.key), target.authority, 0, reason, 0.0, None, kind),)
