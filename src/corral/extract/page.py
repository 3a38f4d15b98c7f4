"""A parsed document and its short metadata, such as the title."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from html import unescape

from ahocorasick_rs import BytesAhoCorasick, MatchKind
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from corral.extract.charset import clean_text
from corral.extract.lazy import lazy_property
from corral.extract.url_joiner import UrlJoiner, join_url
from corral.extract.value_limit import capture_limit

# The parser's time grows with the square of the depth: 10,000 levels take 0.2 s, 100,000 take 22 s.
MAX_DEPTH = 10_000
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)")
_TAG_TEXT = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*")
_PIECE_CHARS = 64 * 1024
_MAX_SCRIPTS = 50
_SRCDOC = re.compile(r"""(?i)<iframe\b[^>]{0,500}?\bsrcdoc\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)')[^>]{0,500}>""")
# Void elements, and elements that the next sibling closes implicitly: pages leave them open in large numbers.
_FLAT = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "wbr")
) | frozenset(("p", "li", "td", "th", "tr", "option", "dt", "dd"))
# Attributes that hold a URL; their values are resolved against the base URL.
URL_ATTRIBUTES = frozenset({"href", "src", "action", "poster", "data-src"})
# Every known sign of a bot detection contains one of GUARD_WORDS, and those in scripts one of SCRIPT_WORDS.
SCRIPT_WORDS = tuple(b"captcha incapsula /cdn-cgi/ _cf_chl_opt gokuprops sucuri ddos-guard /ips.js awswaf".split())
GUARD_WORDS = (
    *SCRIPT_WORDS,
    *b"challenge- _challenge challenges. turnstile geetest cpt-container arkoselabs data-translate".split(),
)
# Most pages that load more of a list on scrolling contain one of these.
MORE_WORDS = (*b"infinite load-more loadmore load_more intersectionobserver scroll".split(), b" more<")
# Every page with inline elements that are not displayed contains one of these, or `<span hidden`.
UNSEEN_INLINE_WORDS = (
    *b"editsection header-anchor sr-only screen-reader visually noprin".split(),
    *(b'class="lineno', b'<span style="display'),
)
# No word begins with the end of another: of two overlapping matches the searcher reports only the first.
WORDS = (
    *GUARD_WORDS,
    *b"<base <article <main <area <frame robots noindex hidden password role <style <script <noscript".split(),
    *b"<nav <footer <aside <form <svg canonical <iframe http-equiv xlink:href".split(),
    *MORE_WORDS,
    *UNSEEN_INLINE_WORDS,
)
_BLOCKS = """
    address article aside blockquote center dd details dir div dl dt fieldset figcaption figure footer form h1 h2 h3 h4
    h5 h6 header hgroup li main menu nav ol p pre section summary table caption tbody thead tfoot tr td th ul listing
    xmp plaintext search
"""
BLOCK_TAGS = frozenset(_BLOCKS.split())
# Line breaks, and elements inside a text that do not belong to it.
_SPECIALS = "br hr script style noscript svg button select textarea video audio object math iframe dialog q"
SPECIAL_TAGS = frozenset(_SPECIALS.split())
OUTLINED = BLOCK_TAGS | SPECIAL_TAGS | {"a", "area", "frame", "meta"}
# Only with LeftmostFirst does the searcher scan many bytes at a time.
_WORD_SEARCHER = BytesAhoCorasick(WORDS, matchkind=MatchKind.LeftmostFirst)


def is_too_deep(html: str, limit: int = MAX_DEPTH, piece_chars: int = _PIECE_CHARS) -> bool:
    """Return whether parsing would stall, by counting the tags of the text in linear time.

    A closing tag counts only against an open tag of the same name; otherwise invented tags could hide the depth.
    A crafted page can still mislead the count: the limits of the parser process are the last defence.
    """
    # An opening tag takes three characters or more, and no more elements can be open than have opening tags.
    if len(html) <= 3 * limit or (tags := html.count("<")) <= limit or tags - html.count("</") <= limit:
        return False
    return _may_be_too_deep(html, limit, piece_chars) and _is_counted_too_deep(html, limit)


def _may_be_too_deep(html: str, limit: int, piece_chars: int) -> bool:
    """Return False if the depth cannot exceed the limit, as for nearly all pages.

    The tags of a piece are counted without regard to their order, which is faster than to follow it.
    """
    can_be_open: Counter[str] = Counter()
    at = 0
    while at < len(html):
        end = html.find("<", at + piece_chars)  # so that no tag is cut in two
        end = len(html) if end < 0 else end
        opened: Counter[str] = Counter()
        closed: Counter[str] = Counter()
        for tag, times in Counter(_TAG_TEXT.findall(html, at, end)).items():
            name = tag.lstrip("</").lower()
            if name not in _FLAT:
                (closed if tag[1] == "/" else opened)[name] += times
        if can_be_open.total() + opened.total() > limit:
            return True
        # Assume the worst order: the piece closes older elements first, and all that it opens stay open.
        can_be_open = can_be_open - closed + opened
        at = end
    return False


def _is_counted_too_deep(html: str, limit: int) -> bool:
    still_open: Counter[str] = Counter()
    depth = 0
    for match in _TAG.finditer(html):
        tag = match[2].lower()
        if tag in _FLAT:
            continue
        if not match[1]:
            # A trailing slash closes an element only inside SVG and MathML; HTML ignores it elsewhere.
            if (still_open["svg"] or still_open["math"]) and _closes_itself(html, match.end()):
                continue
            still_open[tag] += 1
            depth += 1
        elif still_open[tag]:
            still_open[tag] -= 1
            depth -= 1
        if depth > limit:
            return True
    return False


def _closes_itself(html: str, at: int) -> bool:
    end = html.find(">", at)
    return end > at and html[end - 1] == "/"


def unfold_frames(html: str) -> str:
    """Return the document with each `srcdoc` frame replaced by the content of that attribute."""
    if "srcdoc" not in html:
        return html
    return _SRCDOC.sub(lambda found: f"<div>{unescape(found[1] or found[2] or '')}</div>", html)


def normalize_space(text: str | None) -> str | None:
    """Return the text as one line without surplus space; None if nothing is left."""
    if text is None:
        return None
    limit = capture_limit()
    if len(text) <= limit and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip() or None  # normalized already, except at the ends
    # A word and the space after it take two characters at least, so more words than this cannot fit.
    max_words = limit // 2 + 1
    words = text.split(maxsplit=max_words)[:max_words]
    return clean_text(" ".join(words)[:limit]).strip() or None


class Page:
    def __init__(self, html: str, base_url: str = "", *, is_flat: bool = False, utf8: bytes | None = None) -> None:
        """`is_flat`: the caller has checked the depth. `utf8`: the same text in UTF-8, if the caller has it."""
        is_flat = is_flat or not is_too_deep(html)
        self._utf8 = (utf8 or html.encode("utf-8", "replace")) if is_flat else b""
        self.tree = LexborHTMLParser(self._utf8)
        self._url = base_url
        self._by_tag: dict[str, list[LexborNode]] | None = None

    @lazy_property
    def source(self) -> bytes:
        """The document as UTF-8 in lower case."""
        return self._utf8.lower()

    @lazy_property
    def mentioned(self) -> frozenset[bytes]:
        """The words of `WORDS` that occur anywhere in the document, in markup or text.

        Check it before a search of the tree: a search visits every element, while one pass finds all words.
        """
        return frozenset([WORDS[index] for index, _, _ in _WORD_SEARCHER.find_matches_as_indexes(self.source)])

    @lazy_property
    def outline(self) -> list[tuple[str, LexborNode]]:
        """The elements in `OUTLINED` with their tags, in document order.

        One walk over the tree takes as long as three searches: use it where many kinds of elements are needed.
        """
        found: list[tuple[str, LexborNode]] = []
        by_tag: defaultdict[str, list[LexborNode]] = defaultdict(list)
        root = self.tree.root
        for node in root.traverse() if root is not None else ():
            tag = node.tag
            if tag in OUTLINED:
                found.append((tag, node))
                by_tag[tag].append(node)
        self._by_tag = dict(by_tag)
        return found

    @lazy_property
    def link_attributes(self) -> list[dict[str, str | None]]:
        """The attributes of each `a`, in document order."""
        return [node.attributes for node in self.elements("a")]

    @lazy_property
    def script_urls(self) -> list[str]:
        """The URLs of the script files among the first scripts, in document order."""
        sources = (node.attributes.get("src") for node in self.elements("script")[:_MAX_SCRIPTS])
        return [self.absolute(source) for source in sources if source]

    def elements(self, tag: str) -> list[LexborNode]:
        """Return the elements with a tag that is in `OUTLINED`, in document order."""
        return self.tree.css(tag) if self._by_tag is None else self._by_tag.get(tag, [])

    @lazy_property
    def base_url(self) -> str:
        node = self.tree.css_first("base[href]") if b"<base" in self.mentioned else None
        href = node.attributes.get("href") if node is not None else None
        return join_url(self._url, href) if href else self._url

    @lazy_property
    def title(self) -> str | None:
        # `head title` first: an <svg> in the body may have a title of its own.
        for selector in ("head title", "title"):
            found = self.text_of(self.tree.css_first(selector))
            if found:
                return found
        return None

    @lazy_property
    def body_text(self) -> str:
        """Roughly the visible text: without scripts, styles and templates, and cut at the capture limit."""
        body = self.tree.body
        if body is None:
            return ""
        pieces: list[str] = []
        size, limit = 0, capture_limit()
        for node in body.traverse(include_text=True):
            if node.tag != "-text" or _is_hidden(node):
                continue
            text = normalize_space(node.text_content)
            if text:
                pieces.append(text)
                size += len(text)
            if size > limit:
                break
        return " ".join(pieces)[:limit]

    def absolute(self, reference: str) -> str:
        return self._joiner.join(reference)

    @lazy_property
    def _joiner(self) -> UrlJoiner:
        return UrlJoiner(self.base_url)

    def by_css(self, selector: str) -> list[LexborNode]:
        """Return the matching elements; an empty list if the parser rejects the selector."""
        try:
            return self.tree.css(selector)
        except (SelectolaxError, ValueError):
            return []

    def values_of(self, nodes: Sequence[LexborNode], attr: str | None) -> Iterator[str]:
        """Yield the values of elements that have one: like `value_of` for each, in half of the time."""
        texts: Iterator[str | None]
        if attr is None:
            texts = (node.text(deep=True, separator=" ") for node in nodes)
        else:
            attr = attr.lower()
            texts = (node.attributes.get(attr) for node in nodes)
        join = self._joiner.join if attr in URL_ATTRIBUTES else None
        limit = capture_limit()
        for text in texts:
            if not text:
                continue
            if len(text) <= limit and text.isascii() and text.isprintable() and "  " not in text:
                value: str | None = text.strip()
            else:
                value = normalize_space(text)
            if value:
                yield value if join is None else join(value)

    def value_of(self, node: LexborNode, attr: str | None) -> str | None:
        if attr is None:
            return self.text_of(node)
        attr = attr.lower()
        value = normalize_space(node.attributes.get(attr))
        return self.absolute(value) if value and attr in URL_ATTRIBUTES else value

    @staticmethod
    def text_of(node: LexborNode | None) -> str | None:
        return normalize_space(node.text(deep=True, separator=" ")) if node is not None else None


def _is_hidden(node: LexborNode) -> bool:
    parent = node.parent
    return parent is not None and parent.tag in ("script", "style", "template", "noscript")
