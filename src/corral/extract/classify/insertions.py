"""Tell from the text of its scripts whether they could add content to a page. Scripts are never run here.

The result errs on the side of "could": the crawl renders a few pages to find out what scripts really add.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborNode

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.option_values import AUTO
from corral.domain.crawl.script_signs import ScriptFacts, ScriptSigns
from corral.domain.fields.spec import FieldSpec
from corral.extract.classify.shells import (
    EXECUTED,
    has_more_button,
    host_of_script,
    loads_more,
    own_scripts,
    script_loads_more,
)
from corral.extract.crawl_page import CrawlReadOptions
from corral.extract.links import find_routes
from corral.extract.page import Page

_MAX_SCRIPTS = 50
_MAX_SCRIPT_CHARS = 256 * 1024
_MAX_GAPS = 20
_CACHE_SIZE = 32
_MAX_NAMES = 5_000
_MAX_TEXTS = 60
_HIDDEN_TEXTS = 5
_HIDDEN_CHARS = 200
# Every script that adds elements or text to its page contains one of these.
_INSERTS = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|createElement|createTextNode|createContextualFragment|textContent|innerText"
    r"|document\s*\.\s*write|\.append|\.prepend|\.replaceWith|\.replaceChild|\.before\(|\.after\(|insertBefore"
    r"|cloneNode|importNode|attachShadow|customElements|setHTML|DOMParser|\.html\(|\.text\(|\.nodeValue"
    r"|hydrate|createRoot|createApp|\.render\(|\.mount\(|eval\(|import\(|\.src\s*="
    r"|insertRow|insertCell|new Function"
)
# Hosts of scripts that count visitors, ask for consent or show advertisements, fonts, chats and maps.
_HARMLESS = re.compile(
    r"(?:^|\.)(?:google-analytics|googletagmanager|googletagservices|googlesyndication|googleadservices|doubleclick"
    r"|gstatic|plausible|matomo|hotjar|clarity|segment|mixpanel|amplitude|sentry|sentry-cdn|newrelic|nr-data"
    r"|datadoghq-browser-agent|cookiebot|cookielaw|onetrust|usercentrics|trustarc|iubenda|osano|quantserve|quantcast"
    r"|facebook|licdn|ads-twitter|pinimg|cloudflareinsights|typekit|fontawesome|stripe|intercomcdn|crisp|tawk"
    r"|hs-scripts|hs-analytics|addthis|sharethis|scorecardresearch|chartbeat|optimizely|fullstory|mouseflow"
    r"|statcounter|bat\.bing|mc\.yandex|hcaptcha|recaptcha|simpleanalyticscdn|usefathom|umami)\.[a-z.]{2,12}$"
)
_LOADERS = "[onload], [onerror]"
_HANDLERS = (b"onload", b"onerror")
_ELSEWHERE = (*_HANDLERS, b"shadowroot")
_DATA_TYPES = frozenset({"application/json", "text/json", "text/x-template", "text/template", "text/html"})
_CONTAINERS = frozenset(
    {"div", "ul", "ol", "dl", "table", "tbody", "section", "main", "article", "aside", "p", "span", "nav"}
)
# `:blank`: at most space and comments inside. Testing it first is nine times as fast as testing each container.
_NAMED_GAPS = "[id]:blank, [class]:blank"
# Empty elements that scripts fill on demand, and not with content.
_ORNAMENT = re.compile(
    r"(?i)search|suggest|autocomplete|result|modal|dialog|toast|popup|popover|tooltip|cookie|consent|banner|overlay"
    r"|progress|spin|load|icon|arrow|caret|backdrop|toggle|burger|menu|nav|toc|header|footer|logo|captcha|live|alert"
    r"|notif|message|error|status|player|video|map|chart|canvas|sentinel|scroll|top|clear|shadow|skip|copy|theme|chat"
    r"|^ads?$|\bads?\b|year|copyright|date|count|clock|badge"
)
_TAG = re.compile(r"<[^>]*>")
_CUSTOM = re.compile(rb"<([a-z][a-z0-9]*-[a-z0-9-]{1,40})")
_STRING = re.compile(r"""(["'`])([^"'`\\\n]{0,300})\1""")
_QUOTED_NAME = re.compile(r"""["'`][^"'`\n]{0,80}?[#.]?([A-Za-z][\w-]{1,63})["'`\]]""")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_VOLATILE = re.compile(r"[0-9a-f]{6,}|\d+")
_PROSE = re.compile(r"[^\W\d_]{2,}[^<>{}()=;]*\s[^<>{}()=;]*[^\W_]{2,}")


def describe_scripts(page: Page, url: str, plan: CrawlPlan, options: CrawlReadOptions) -> dict[str, Any]:
    """Describe the scripts of a page for the crawl that fetched it."""
    document: dict[str, Any] = {}
    if plan.strategy == AUTO and (signs := script_signs(page, url)) is not None:
        document["script_signs"] = signs
    if b"<script" not in page.mentioned:
        return document
    if len(routes := find_routes(page)) > 1:
        document["routes"] = [len(routes), routes[0]]
    has_more = loads_more(page) or (options.listing is not None and has_more_button(page))
    return {**document, "loads_more": has_more, "scripts": own_scripts(page, url)}


def describe_own_scripts(page: Page | None, url: str, fields: Sequence[FieldSpec]) -> dict[str, Any] | None:
    """Return the scripts of a single page that could add values; None if there are none, or no field is a list."""
    if page is None or not any(spec.all or spec.join is not None or spec.is_code for spec in fields):
        return None
    signs = script_signs(page, url)
    return None if signs is None else {"signs": signs, "files": own_scripts(page, url)}


# Memo: most pages of a site have the same scripts; this and the next two take 2 ms for 20 kB of them.
@lru_cache(maxsize=_CACHE_SIZE)
def read_script(text: str) -> ScriptFacts:
    """Inspect the text of a script file."""
    inserts = _INSERTS.search(text) is not None
    names = islice(_QUOTED_NAME.finditer(text), _MAX_NAMES) if inserts else ()
    return ScriptFacts(script_loads_more(text), inserts, frozenset(match[1] for match in names))


def script_signs(page: Page, url: str) -> ScriptSigns | None:
    """Return what the scripts of the page look like; None if nothing in it could add content."""
    if b"<script" not in page.mentioned and not any(word in page.source for word in _ELSEWHERE):
        return None
    nodes = page.elements("script")[:_MAX_SCRIPTS]
    sources = [src for node in nodes if (src := node.attributes.get("src"))]
    inline = [(_text_of(node), _type_of(node)) for node in nodes if not node.attributes.get("src")]
    code = [text for text, kind in inline if kind in EXECUTED]
    if any(word in page.source for word in _HANDLERS):
        code += [_handler(node) for node in page.tree.css(_LOADERS)[:_MAX_SCRIPTS]]
    hosts, own = set(map(host_of_script, page.script_urls)), host_of_script(url)
    inserting = [text for text in code if read_script(text).inserts]
    has_shadow = b"shadowrootmode" in page.source
    inserts = bool(inserting) or any(not _HARMLESS.search(host) for host in hosts - {own, ""}) or has_shadow
    if not inserts and own not in hosts:
        return None
    gaps = _find_gaps(page)
    data = [text for text, kind in inline if kind in EXECUTED or kind in _DATA_TYPES]
    names = {name for text in inserting for name in read_script(text).names}
    is_likely = has_shadow or not names.isdisjoint(gaps) or _hides_texts(page, data) or _hides_elements(page)
    return ScriptSigns(_signature(sources, code, gaps), inserts, is_likely, gaps)


def _signature(sources: list[str], code: list[str], gaps: tuple[str, ...]) -> str:
    """Return a digest of the script files, the identifiers in the scripts, and the empty elements."""
    files = sorted({_VOLATILE.sub("#", src.partition("?")[0]) for src in sources})
    words = sorted(set(map(_list_identifiers, code)))
    content = "\0".join([*files, *words, *sorted(gaps)])
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()


# Memo: see read_script.
@lru_cache(maxsize=_CACHE_SIZE)
def _list_identifiers(text: str) -> str:
    return " ".join(sorted(set(_IDENTIFIER.findall(_STRING.sub("", text)))))


# Memo: see read_script.
@lru_cache(maxsize=_CACHE_SIZE)
def _list_texts(text: str) -> frozenset[str]:
    """Return the strings of a script that read like text."""
    strings = {match[2].strip() for match in _STRING.finditer(text)}
    return frozenset(each for each in strings if _PROSE.fullmatch(each))


def _find_gaps(page: Page) -> tuple[str, ...]:
    """Return the ids and classes of empty elements, and the tags of empty custom elements."""
    custom = {tag.decode() for tag in _CUSTOM.findall(page.source)}
    found = {tag: None for tag in sorted(custom)[:_MAX_GAPS] if page.tree.css_first(f"{tag}:blank") is not None}
    for node in page.tree.css(_NAMED_GAPS):
        if node.tag not in _CONTAINERS:
            continue
        named = [node.attributes.get("id") or "", *(node.attributes.get("class") or "").split()[:3]]
        if not any(_ORNAMENT.search(each) for each in named):
            found.update(dict.fromkeys(each for each in named if each))
        if len(found) >= _MAX_GAPS:
            break
    return tuple(found)[:_MAX_GAPS]


def _hides_texts(page: Page, data: list[str]) -> bool:
    """Return whether the scripts hold several texts that the page does not show."""
    texts = {each for text in data for each in _list_texts(text)}
    if len(texts) < _HIDDEN_TEXTS:
        return False
    visible = page.body_text
    hidden = sum(each not in visible for each in sorted(texts)[:_MAX_TEXTS])
    return hidden >= max(_HIDDEN_TEXTS, min(len(texts), _MAX_TEXTS) // 2)


def _hides_elements(page: Page) -> bool:
    """Return whether elements that only scripts show hold much text."""
    if b"<noscript" not in page.mentioned and b"<template" not in page.source:
        return False
    nodes = page.tree.css("template, noscript")[:_MAX_SCRIPTS]
    # The parser keeps the content of a template apart from the tree, so only the markup has it.
    return sum(len(_TAG.sub("", node.html or "").strip()) for node in nodes) >= _HIDDEN_CHARS


def _text_of(node: LexborNode) -> str:
    return (node.text(deep=True) or "")[:_MAX_SCRIPT_CHARS]


def _type_of(node: LexborNode) -> str:
    return (node.attributes.get("type") or "").partition(";")[0].strip().lower()


def _handler(node: LexborNode) -> str:
    attributes = node.attributes
    return f"{attributes.get('onload') or ''} {attributes.get('onerror') or ''}"
