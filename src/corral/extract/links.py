"""The links of a page, and its directives for crawlers."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from corral.extract.page import Page

# Default limit of the links taken from one page. Reading that many costs 2 s of processor time and 230 MiB.
MAX_LINKS = 100_000
_MAX_TEXT_CHARS = 200
_XLINK = "xlink:href"
_SPACE = " \t\n\r\f"
_ROUTE = re.compile(r"#!?/[\w%][^\s#]*")
_BREAKS = re.compile("[\t\n\r]")
# A reference with one of these schemes cannot be fetched.
_ELSEWHERE = re.compile("(?:javascript|mailto|tel|data|about|blob|sms|ftp|file):", re.IGNORECASE)
# The delay may have a fraction, which is ignored; `url=` is optional.
_REFRESH = re.compile(r"\s*(?P<delay>\d{0,9})[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?P<url>.*)", re.IGNORECASE | re.DOTALL)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_ROBOT = re.compile(r"[\w*.-]+")


class Directives(NamedTuple):
    """The directives of a robots meta element or an X-Robots-Tag header."""

    noindex: bool = False
    nofollow: bool = False

    def also(self, other: "Directives") -> "Directives":
        return Directives(self.noindex or other.noindex, self.nofollow or other.nofollow)


class Links(NamedTuple):
    """The links of a page. References are as written, without fragment and without duplicates."""

    references: tuple[str, ...]
    nofollow: frozenset[str]  # references that have rel=nofollow on all their links
    dropped: int  # beyond the limit
    base_url: str
    canonical: str | None
    directives: Directives
    refresh: "Refresh | None" = None


class Refresh(NamedTuple):
    """The target of a meta refresh, and its delay in seconds."""

    delay_s: float
    reference: str


def links_of(page: Page, *, limit: int = MAX_LINKS) -> Links:
    """Return the links of `a`, `area`, `frame` and `iframe` in the order of the page."""
    found: dict[str, bool] = {}
    dropped: set[str] = set()
    followed = {""}  # as written, already known to be followed: most links of a page are repetitions of these
    for attributes in _link_attributes(page):
        written = (attributes.get("href") or attributes.get("src") or attributes.get(_XLINK) or "").partition("#")[0]
        if written in followed:
            continue
        reference = _clean(written)
        if not reference:
            continue
        rel = attributes.get("rel")
        is_followed = rel is None or "nofollow" not in rel.lower().split()
        if reference not in found and len(found) >= limit:
            dropped.add(reference)
            continue
        # A reference is followed if one of its links lacks rel=nofollow.
        found[reference] = is_followed or found.get(reference, False)
        if is_followed:
            followed.add(written)
    refresh, fallbacks = _refreshes(page)
    found |= dict.fromkeys(fallbacks, True)
    return Links(
        references=tuple(found),
        nofollow=frozenset(reference for reference, is_followed in found.items() if not is_followed),
        dropped=len(dropped),
        base_url=page.base_url,
        canonical=_canonical(page),
        directives=_directives(page),
        refresh=refresh,
    )


def _link_attributes(page: Page) -> list[dict[str, str | None]]:
    """Return the attributes of all link elements, in document order."""
    marked = ((b"<area", "area[href]"), (b"<frame", "frame[src]"), (b"<iframe", "iframe[src]"))
    others = [selector for mark, selector in marked if mark in page.mentioned]
    has_xlinks = _XLINK.encode() in page.mentioned  # links of older SVG pictures
    if not others:
        return [each for each in page.link_attributes if "href" in each or (has_xlinks and _XLINK in each)]
    return [node.attributes for node in page.tree.css(", ".join(["a" if has_xlinks else "a[href]", *others]))]


def find_routes(page: Page) -> list[str]:
    """Return the distinct links to views that a script shows inside the page: `#/guide`, `#!/guide`."""
    if b"#/" not in page.source and b"#!/" not in page.source:
        return []
    written = (attributes.get("href") or "" for attributes in page.link_attributes)
    return list(dict.fromkeys(each.strip() for each in written if _ROUTE.fullmatch(each.strip())))


def link_texts(page: Page) -> dict[str, str]:
    """Return, by reference, the text of its first link that has one."""
    texts: dict[str, str] = {}
    for node in page.elements("a"):
        reference = _clean(node.attributes.get("href") or "")
        if reference and not texts.get(reference):
            texts[reference] = node.text(deep=True)[:_MAX_TEXT_CHARS]
    return texts


def directives_of(text: str) -> Directives:
    """Parse the content of a robots meta element, or of an X-Robots-Tag header for all robots."""
    words = {word.strip().lower() for word in text.split(",")}
    return Directives(
        noindex=not words.isdisjoint({"noindex", "none"}),
        nofollow=not words.isdisjoint({"nofollow", "none"}),
    )


def header_directives(values: Iterable[str], agent: str) -> Directives:
    """Merge the X-Robots-Tag headers of a response, as far as they apply to this user agent.

    A name with a colon limits the rest of its header to that robot, unless it is a directive with a value.
    """
    ours = {word.partition("/")[0].lower() for word in agent.split()}
    found = Directives()
    for value in values:
        is_ours = True
        for part in value.split(","):
            name, colon, rest = part.partition(":")
            name = name.strip().lower()
            if colon and name in _VALUED:
                continue
            is_addressed = bool(colon and _ROBOT.fullmatch(name))
            is_ours = name == "*" or name in ours if is_addressed else is_ours
            if is_ours:
                found = found.also(directives_of(rest if is_addressed else part))
    return found


def _clean(reference: str) -> str:
    """Return the reference as browsers read it, without outer space and inner line breaks.

    The result is empty if the reference cannot be fetched.
    """
    text = reference.partition("#")[0].strip(_SPACE)
    if not text.isprintable():
        text = _BREAKS.sub("", text)
    return "" if ":" in text[:11] and _ELSEWHERE.match(text) else text


def refresh_of(content: str) -> Refresh | None:
    """Parse the content of a refresh meta element as browsers do; return None if it has no URL."""
    found = _REFRESH.fullmatch(content)
    if found is None:
        return None
    text = found["url"].strip(_SPACE)
    quote = text[:1] if text[:1] in ("'", '"') else ""
    reference = _clean(text[1:].partition(quote)[0] if quote else text)
    return Refresh(float(found["delay"] or 0), reference) if reference else None


def _refreshes(page: Page) -> tuple[Refresh | None, list[str]]:
    """Return the refresh that a browser obeys, and the targets of those in `noscript`."""
    first: Refresh | None = None
    fallbacks: list[str] = []
    for node in page.elements("meta") if b"http-equiv" in page.mentioned else ():
        attributes = node.attributes
        if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
            continue
        refresh = refresh_of(attributes.get("content") or "")
        if refresh is not None and node.parent is not None and node.parent.tag == "noscript":
            fallbacks.append(refresh.reference)
        else:
            first = first or refresh
    return first, fallbacks


def _canonical(page: Page) -> str | None:
    head = page.tree.head if b"canonical" in page.mentioned else None
    for node in head.css("link[rel][href]") if head is not None else ():
        attributes = node.attributes
        if "canonical" in (attributes.get("rel") or "").lower().split():
            return _clean(attributes.get("href") or "") or None
    return None


def _directives(page: Page) -> Directives:
    found = Directives()
    # Search the whole document: the parser moves elements of a broken head into the body, and search engines
    # obey those, too.
    for node in page.elements("meta") if b"robots" in page.mentioned else ():
        attributes = node.attributes
        if (attributes.get("name") or "").strip().lower() == "robots":
            found = found.also(directives_of(attributes.get("content") or ""))
    return found
