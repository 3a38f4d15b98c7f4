"""Turn a fetched and parsed page of a crawl into the result of its item: record, links and signals."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corral.domain.crawl.crawl import (
    HASH_ROUTES,
    LINK_LIMIT,
    META_REFRESH,
    NO_FIELDS,
    NOINDEX,
    SHELL,
    VALUE_CUT,
    CrawlPlan,
    ItemState,
)
from corral.domain.crawl.item import (
    Change,
    DiscoveredLink,
    Item,
    ItemResult,
    PageSignals,
    short_key,
)
from corral.domain.crawl.page_archive import page_document
from corral.domain.crawl.script_signs import ScriptSigns
from corral.domain.net.canonical import canonical_url, url_key
from corral.domain.net.url import parse_target
from corral.domain.runs.completeness.flaws import VALUE_CUT as CUT_PROBLEM
from corral.domain.runs.outcome import Failed, FailureCode
from corral.extract.crawl_record import has_no_fields
from corral.extract.page_reader import ReadAnswer
from corral.fetch.crawl.conditional_requests import change_of, version_of
from corral.fetch.response import Response

_IMMEDIATE_REFRESH_S = 2.0  # a faster refresh means that the page itself has no content to read


def result_of_page(
    item: Item, plan: CrawlPlan, answer: Response, read: ReadAnswer, *, is_rendered: bool = False
) -> ItemResult | Failed:
    """Decide the result of a page that was fetched and parsed. A rendered page is never an application shell."""
    if (redirected := result_of_refresh(item, answer, read)) is not None:
        return redirected
    has_none = has_no_fields(item.url, plan, read)
    if has_none and plan.listing is not None and not read.links:
        names = ", ".join(read.missing)
        stats = {"needs_scripts": needs_scripts(read)}
        return Failed(FailureCode.EXTRACTION, f"not found on the page: {names[:500]}", "fields_missing", stats=stats)
    if plan.listing is not None:
        # The job wants only the items of the list, so links on an item page are not followed.
        if read.links is None:
            read = replace(read, crawl_page={**(read.crawl_page or {}), "found": []})
        if answer.chain and canonical_url(parse_target(answer.url)) in plan.scope.starts:
            return Failed(FailureCode.EXTRACTION, "it redirects to the list itself", "redirected_to_list")
    is_shell = bool((read.crawl_page or {}).get("is_shell")) and not is_rendered
    result = _result_of_content(item, plan, answer, read, is_shell=is_shell)
    if is_rendered and result.version is not None:
        # The document may be the same while its scripts show something else: the next crawl must fetch it in any case.
        result = result._replace(version=(result.version[0], None, None))
    if has_none and result.state is ItemState.DONE and not is_shell:
        return result._replace(state=ItemState.SKIPPED, reason=NO_FIELDS, record=None)
    return result


def needs_scripts(read: ReadAnswer) -> bool:
    """True if the page lacks requested content that its scripts may add."""
    return bool((read.crawl_page or {}).get("has_scripts"))


def result_of_refresh(item: Item, answer: Response, read: ReadAnswer) -> ItemResult | None:
    """Return the result of a page with an immediate meta refresh; None for any other page."""
    delay_s, target = (read.crawl_page or {}).get("refresh") or (_IMMEDIATE_REFRESH_S, None)
    if target is None or delay_s >= _IMMEDIATE_REFRESH_S:
        return None
    link = DiscoveredLink(*target)
    message = f"meta refresh to {link.url}" + (f", which is {link.reason}" if link.reason else "")
    found = (
        link,
        *(DiscoveredLink(*each) for each in (read.crawl_page or {}).get("found", ()) if each[1] != link.key),
    )
    result = ItemResult(
        item.id, item.key, ItemState.SKIPPED, META_REFRESH, message, found=found, http_status=answer.status
    )
    return result._replace(size=answer.raw_bytes, signals=PageSignals(is_sent_on=True))


def _result_of_content(
    item: Item, plan: CrawlPlan, answer: Response, read: ReadAnswer, *, is_shell: bool
) -> ItemResult:
    content: dict[str, Any] = read.crawl_page or {}
    key = item.key
    if answer.chain:
        target = parse_target(answer.url)
        key = short_key(url_key(target, plan.counting_params))
        if (rule := plan.scope.refuses(canonical_url(target), item.depth)) is not None:
            return ItemResult(item.id, key, ItemState.SKIPPED, rule, http_status=answer.status, size=answer.raw_bytes)
    found = _links_of(content)
    if content.get("is_noindex") and plan.obey_noindex:
        result = ItemResult(item.id, key, ItemState.SKIPPED, NOINDEX, http_status=answer.status, size=answer.raw_bytes)
        return result._replace(found=found, dropped=content.get("dropped", 0), signals=_signals_of(content))
    reason, message = _find_omission(content, read, is_shell=is_shell)
    version = version_of(content.get("digest", ""), answer)
    change = change_of(item, version) if plan.since is not None else None
    more: list[str] = content.get("more", [])
    return ItemResult(
        item.id,
        key,
        ItemState.DONE,
        reason,
        message,
        record=_add_change(content.get("record"), change),
        details=content.get("details") or None,
        found=found,
        http_status=answer.status,
        size=answer.raw_bytes,
        page=_archive_page(answer) if plan.keep_pages else None,
        version=version,
        change=change,
        dropped=content.get("dropped", 0),
        signals=_signals_of(content),
        more=tuple(zip((_add_change(row, change) or "" for row in more), read.row_details[1:], strict=False)),
    )


def _find_omission(content: dict[str, Any], read: ReadAnswer, *, is_shell: bool) -> tuple[str | None, str | None]:
    """Return the rule that explains what the record of a page lacks, and its message."""
    if is_shell:
        return SHELL, "it is empty without its scripts; --strategy auto or browser runs them"
    cut = [*content.get("cut", ()), *(name for name, problem in read.problems.items() if problem == CUT_PROBLEM)]
    message = f"cut at the limit of a value: {', '.join(cut)[:500]}" if cut else None
    if dropped := content.get("dropped", 0):
        # An item has one reason. Missing links matter more than a cut value, which the record itself marks.
        links = f"{dropped} of its links are not followed; APP_MAX_PAGE_LINKS allows more"
        return LINK_LIMIT, f"{links}; {message}" if message else links
    if routes := content.get("routes"):
        count, example = routes
        return (
            HASH_ROUTES,
            f"{count} links lead to views inside the page, such as {example}, which a crawl does not read",
        )
    return (VALUE_CUT, message) if cut else (None, None)


def _links_of(content: dict[str, Any]) -> tuple[DiscoveredLink, ...]:
    """Return the links of the page, the target of its meta refresh first."""
    found = [DiscoveredLink(*each) for each in content.get("found", ())]
    if content.get("refresh") is None:
        return tuple(found)
    link = DiscoveredLink(*content["refresh"][1])
    return (link, *(each for each in found if each.key != link.key))


def _add_change(packed: str | None, change: Change | None) -> str | None:
    """Add `change` to a record that the parser process packed without knowing the earlier version."""
    if packed is None or change is None:
        return packed
    return f'{packed[:-1]},"change":"{change.value}"}}'


def _archive_page(answer: Response) -> dict[str, Any]:
    requested_url = answer.chain[0] if answer.chain else None
    return page_document(
        answer.url,
        requested_url,
        http_status=answer.status,
        headers=answer.headers,
        body=answer.body,
        fetched_at=round(time.time() * 1000),
    )


def _signals_of(content: dict[str, Any]) -> PageSignals:
    canonical = content.get("canonical")
    print_, words = content.get("sketch") or (None, ())
    original = None if canonical is None else DiscoveredLink(*canonical)
    is_sent_on = content.get("refresh") is not None
    sessions = tuple((url, key) for url, key in content.get("sessions", ()))
    scripts = tuple(content.get("scripts", ()))
    signals = PageSignals(
        original, print_, tuple(words), bool(content.get("loads_more")), scripts, is_sent_on, sessions
    )
    return add_signs(signals, content)


def add_signs(signals: PageSignals, content: Mapping[str, Any]) -> PageSignals:
    """Add the signs of scripts that insert content."""
    signs = content.get("script_signs")
    if signs is None:
        return signals
    signature, inserts, is_likely, gaps = signs
    own = tuple(content.get("scripts", ()))
    return signals._replace(signs=ScriptSigns(signature, inserts, is_likely, tuple(gaps)), own_scripts=own)
