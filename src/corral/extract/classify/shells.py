"""Tell whether a page is only the shell of an application that a browser would fill."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from corral.domain.fields.own_code import without_parser
from corral.domain.fields.spec import FieldSpec
from corral.domain.lists.words import MORE_PATTERN
from corral.extract.fields.extract import extract_from
from corral.extract.page import MORE_WORDS, Page

# Less visible text than this is a loading message, not content.
_LITTLE_TEXT_CHARS = 200
_NO_TEXT_CHARS = 20
_MAX_SCRIPTS = 20
_VISIBLE = "a[href], img, iframe, frame, video, audio, object, embed, form, meta[http-equiv=refresh i]"
EXECUTED = frozenset({"", "module", "text/javascript", "application/javascript"})
_MOUNT_POINTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #svelte, #application, #app-root, #ember-app, #q-app, "
    "app-root, [ng-app], [data-ng-app], [ng-version], [data-reactroot], [data-v-app], [data-server-rendered]"
)
_IN_SCRIPTS = re.compile(
    r"__NEXT_DATA__|__NUXT__|__INITIAL_STATE__|__APOLLO_STATE__|webpackJsonp|webpackChunk|__remixContext"
    r"|/_next/static/|/static/js/main\.|/assets/index[.-]|data-reactroot|ng-version"
)
# Plain words instead of a pattern: scripts are long, and `in` is ten times as fast as a pattern of alternatives.
_WATCHES = ("IntersectionObserver", "'scroll'", '"scroll"', "onscroll", ".scroll(", "scrollHeight")
_CALLS = ("XMLHttpRequest", "$.get(", "$.ajax(", "$.getJSON(", "$.post(", "axios")
_FETCHES = re.compile(r"\bfetch\(")
_BUTTONS = "button, a, [role=button]"
_MORE = re.compile(r"(?i)\W*(?:load|show|view|see)\s+(?:\d+\s+)?more\b")
_MORE_IN_LISTS = re.compile(rf"(?i)\W*(?:{MORE_PATTERN})")
_ASKS_FOR_SCRIPT = re.compile(r"(?i)(enable|requires?|need)s?\b.{0,40}javascript|javascript.{0,40}\b(enable|require)")


def is_application_shell(html: str, fields: Sequence[FieldSpec]) -> bool:
    """Return whether the page has the marks of an application and lacks the requested fields."""
    page, fields = Page(html), without_parser(fields)
    return _has_marks(page, html) and _lacks(page, fields, extract_from(page, fields).missing)


def is_shell_page(
    page: Page, html: str, fields: Sequence[FieldSpec], missing: Sequence[str], *, text_chars: int
) -> bool:
    """Like `is_application_shell`, for a page whose missing fields and length of readable text are already known."""
    if not fields and text_chars >= _LITTLE_TEXT_CHARS:
        return False  # spares the search of the page
    return _lacks(page, fields, missing) and (_is_blank(page) or _has_marks(page, html))


def _lacks(page: Page, fields: Sequence[FieldSpec], missing: Sequence[str]) -> bool:
    if fields and len(missing) in (0, len(fields)):
        return bool(missing)
    # A shell may still have a title: some missing fields are enough if the body is nearly empty, else all must be.
    return len(page.body_text) < _LITTLE_TEXT_CHARS


def _has_marks(page: Page, html: str) -> bool:
    if page.tree.css_first(_MOUNT_POINTS) is not None or _IN_SCRIPTS.search(html):
        return True
    return any(_ASKS_FOR_SCRIPT.search(node.text(deep=True) or "") for node in page.tree.css("noscript")[:20])


def loads_more(page: Page) -> bool:
    """Return whether scripts probably load more content when a reader scrolls or presses a button."""
    if page.mentioned.isdisjoint(MORE_WORDS):
        return False
    scripts = [node for node in page.elements("script") if "src" not in node.attributes][:50]
    if script_loads_more(" ".join(node.text(deep=True) or "" for node in scripts)):
        return True
    return any(_is_more(node) for node in page.tree.css(_BUTTONS)[:2000])


def has_more_button(page: Page) -> bool:
    """Return whether the page has a button with a label such as "load more", in one of many languages."""
    return any(_is_more(node, _MORE_IN_LISTS) for node in page.tree.css(f"{_BUTTONS}, input[type=button]")[:2000])


def script_loads_more(text: str) -> bool:
    """Return whether a script watches the scroll position and makes requests."""
    if not any(word in text for word in _WATCHES):
        return False
    return any(word in text for word in _CALLS) or _FETCHES.search(text) is not None


def own_scripts(page: Page, url: str) -> list[str]:
    """Return the script files of the page's own host; other hosts mostly serve statistics and advertisements."""
    host = host_of_script(url)
    return [each for each in dict.fromkeys(page.script_urls[:_MAX_SCRIPTS]) if host_of_script(each) == host]


def host_of_script(url: str) -> str:
    """Return the host and port of a URL; empty if it is invalid, and browsers cannot load it, either."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _is_more(node: LexborNode, words: re.Pattern[str] = _MORE) -> bool:
    href = (node.attributes.get("href") or "").strip().lower()
    is_link = bool(href) and not href.startswith(("#", "javascript:"))
    text = node.text(deep=True).strip() or node.attributes.get("value") or ""
    return not is_link and words.match(text[:80]) is not None


def _is_blank(page: Page) -> bool:
    """Return whether the page has no text, media or links, but a script that may add them."""
    if len(page.body_text) >= _NO_TEXT_CHARS or page.tree.css_first(_VISIBLE) is not None:
        return False
    return any((node.attributes.get("type") or "").lower() in EXECUTED for node in page.tree.css("script"))
