"""The signs of a response, each computed at most once and in time linear in the size of the document."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from selectolax.lexbor import LexborNode

from corral.extract.classify.phrases import is_odd, plain_text
from corral.extract.lazy import lazy_property
from corral.extract.page import GUARD_WORDS, SCRIPT_WORDS, Page, normalize_space

MAX_EXAMINED_CHARS = 2_000_000
# Characters of text outside links, menus and buttons. Even a verbose block page has only about 700.
LITTLE_PROSE_CHARS = 700
LONG_PROSE_CHARS = 1_500
_NOT_PROSE = frozenset(
    ("a", "aside", "button", "dialog", "footer", "head", "header", "label", "nav", "noscript", "option", "script")
) | frozenset(("select", "style", "svg", "template", "textarea", "title"))
_MAX_PARAGRAPHS = 100
# Limits for pages that consist of nothing but such elements.
_MAX_ELEMENTS = 5_000
_MAX_NODES = 300_000
# A form or widget in one of these is beside the content and does not replace it.
_BESIDE = frozenset(("aside", "dialog", "footer", "header", "nav", "noscript", "template"))

WIDGETS = (
    ".g-recaptcha:not([data-size=invisible]), .h-captcha:not([data-size=invisible]), .cf-turnstile, .frc-captcha, "
    ".smart-captcha, .geetest_holder, #px-captcha, #captcha-container, #captcha-box, #sec-if-cpt-container, "
    '#challenge-stage, iframe[src*="/recaptcha/api2/anchor"], iframe[src*="hcaptcha.com/"], '
    'iframe[src*="challenges.cloudflare.com/"], iframe[src*="captcha-delivery.com/"], '
    'iframe[src*="arkoselabs.com/"], iframe[src*="funcaptcha.com/"], img[src*="captcha" i]'
)
CHALLENGE_MARKUP = (
    "#challenge-form, #challenge-running, #challenge-error-text, #px-captcha, #sec-if-cpt-container, "
    "#anubis_challenge, "
    "[data-translate=block_headline], [data-translate=unable_to_access], [data-translate=challenge_headline], "
    'iframe[src*="_Incapsula_Resource"], iframe[src*="captcha-delivery.com/"], form[action*="validateCaptcha"], '
    'form[action*="/cdn-cgi/"], form[action*="/checkcaptcha"], form#captcha-form, [name=cf_captcha_kind], '
    'meta[http-equiv=refresh i][content*="/.well-known/sgcaptcha" i], '
    'meta[http-equiv=refresh i][content*="/cdn-cgi/" i]'
)
CHALLENGE_SCRIPT = re.compile(
    r"_cf_chl_opt|/cdn-cgi/challenge-platform/h/\w{1,4}/orchestrate|gokuProps|sucuri_cloudproxy_js"
    r"|captcha-delivery\.com/[a-z]\.js|captcha\.px-(?:cdn|cloud)\.net|/ddos-guard/js-challenge|/ips\.js\?"
)
# These also run on pages that were let through.
WATCHING_SCRIPT = re.compile(r"_Incapsula_Resource|\.awswaf\.com/|/ddos-guard/")
_LOGIN_SEGMENTS = frozenset(
    ("auth", "authenticate", "authorize", "authwall", "cas", "idp", "log-in", "log_in", "login", "logon", "oauth")
) | frozenset(("oauth2", "saml", "sign-in", "sign_in", "signin", "sso", "user-login", "wp-login"))
_ACCOUNT_SEGMENTS = _LOGIN_SEGMENTS | frozenset(
    ("join", "password", "register", "registration", "sign-up", "sign_up", "signup")
)
_LOGIN_HOSTS = ("accounts.", "auth.", "id.", "idp.", "login.", "signin.", "sso.")
_NOT_FOUND_SEGMENTS = frozenset(("404", "error", "error404", "not-found", "not_found", "notfound", "page-not-found"))
_CONTENT_TYPES = (
    r"\w{0,30}Article|BlogPosting|\w{0,30}Posting|Product|ProductGroup|Offer|Recipe|Event|Book|Movie|TVSeries|Dataset"
    r"|VideoObject|MusicAlbum|Course|FAQPage|QAPage|HowTo|LocalBusiness|Restaurant|Hotel|Person|SoftwareApplication|Review"
)
_LD_TYPE = re.compile(rf'"@type"\s{{0,9}}:\s{{0,9}}\[?\s{{0,9}}"(?:{_CONTENT_TYPES})"')
_ITEM_TYPE = re.compile(rf"schema\.org/(?:{_CONTENT_TYPES})\s*$")
_FILLED_IN = frozenset(("", "date", "email", "file", "number", "password", "search", "tel", "text", "url"))


@dataclass(frozen=True, slots=True)
class ClassifierInput:
    """The parts of a response that the classification uses. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content_type: str
    final_url: str
    requested_url: str
    text: str  # decoded
    title: str | None = None
    wants_title_only: bool = False  # a title proves nothing: every page has one


class Signs:
    def __init__(self, response: ClassifierInput, fields_missing: tuple[str, ...], parsed: Page | None = None) -> None:
        self.response = response
        self.fields_missing = fields_missing
        self._parsed = parsed

    @lazy_property
    def html(self) -> str:
        return self.response.text[:MAX_EXAMINED_CHARS]

    @lazy_property
    def source(self) -> bytes:
        return self._parsed.source if self._parsed is not None else self.html.encode("utf-8", "replace").lower()

    @lazy_property
    def mentions_bot_detection(self) -> bool:
        """Whether the page mentions a bot detection. Most pages do not, and need no search for its elements."""
        return self._mentions(GUARD_WORDS)

    def _mentions(self, words: tuple[bytes, ...]) -> bool:
        """Return whether to search the page; always if its title is odd, because markup can disguise the words."""
        return self.has_odd_title or not self.page.mentioned.isdisjoint(words)

    @lazy_property
    def page(self) -> Page:
        return self._parsed or Page(self.html, self.response.final_url)

    @lazy_property
    def title(self) -> str | None:
        return self.response.title or self.page.title

    @lazy_property
    def headings(self) -> tuple[str, ...]:
        return tuple(text[:300] for node in self.page.tree.css("h1")[:3] if (text := self.page.text_of(node)))

    @lazy_property
    def _pieces(self) -> Iterator[str]:
        return _prose_of(self.page.tree.body, may_hide=b"hidden" in self.page.mentioned)

    @lazy_property
    def _first_words(self) -> list[str]:
        return _take_chars(self._pieces, LITTLE_PROSE_CHARS)

    @lazy_property
    def _beginning(self) -> list[str]:
        more = LONG_PROSE_CHARS - sum(map(len, self._first_words))
        return [*self._first_words, *_take_chars(self._pieces, more)]

    @lazy_property
    def _has_long_beginning(self) -> bool:
        return self.has_long_paragraphs or sum(map(len, self._beginning)) >= LONG_PROSE_CHARS

    @lazy_property
    def has_long_paragraphs(self) -> bool:
        """Whether the first paragraphs hold long prose: true for most pages with much text, and cheap to find out."""
        chars = 0
        prose_by_id: dict[int, bool] = {}  # by the id of an element, whether text in it is prose
        may_hide = b"hidden" in self.page.mentioned
        for node in self.page.elements("p")[:_MAX_PARAGRAPHS]:
            above = node.parent
            is_hidden = may_hide and "hidden" in node.attributes
            if above is None or is_hidden or not _is_prose(above, prose_by_id, may_hide=may_hide):
                continue
            # Only the paragraph's own text, without links and other elements: a lower bound of its prose.
            chars += len(normalize_space(node.text(deep=False)) or "")
            if chars >= LONG_PROSE_CHARS:
                return True
        return False

    @lazy_property
    def has_odd_title(self) -> bool:
        return is_odd(self.title)

    @lazy_property
    def prose(self) -> str:
        """The beginning of the prose in the form of the patterns, long enough to tell little prose from long."""
        more = 2 * LONG_PROSE_CHARS - sum(map(len, self._beginning))
        return plain_text(" ".join([*self._beginning, *_take_chars(self._pieces, more)]))

    @lazy_property
    def has_little_prose(self) -> bool:
        # plain_text never shortens a text, so the length of the raw pieces is enough to decide.
        is_some = self.has_long_paragraphs or sum(map(len, self._first_words)) >= LITTLE_PROSE_CHARS
        return not is_some and len(self.prose) < LITTLE_PROSE_CHARS

    @lazy_property
    def has_long_prose(self) -> bool:
        # Nearly every page has a long beginning, and then its prose need not be collected.
        return self._has_long_beginning or len(self.prose) >= LONG_PROSE_CHARS

    def first(self, selector: str) -> LexborNode | None:
        return self.page.tree.css_first(selector)

    @lazy_property
    def widget(self) -> LexborNode | None:
        """A captcha widget in the main part of the page."""
        if not self.mentions_bot_detection:
            return None
        return next((node for node in self.page.tree.css(WIDGETS)[:20] if not _is_beside(node)), None)

    @lazy_property
    def password(self) -> LexborNode | None:
        found = self.page.tree.css("input[type=password i]")[:20] if b"password" in self.page.mentioned else []
        return next((node for node in found if not _is_beside(node)), None)

    @lazy_property
    def has_other_inputs(self) -> bool:
        """Whether the page has inputs that are not part of a captcha."""
        return any(_is_filled_in(node) for node in self.page.tree.css("input, textarea, select")[:_MAX_ELEMENTS])

    @lazy_property
    def submit_labels(self) -> tuple[str, ...]:
        buttons = self.page.tree.css("button")[:50]
        inputs = self.page.tree.css("input[type=submit i]")[:50]
        labels = [self.page.text_of(node) for node in buttons] + [node.attributes.get("value") for node in inputs]
        return tuple(text[:100] for text in labels if text)

    @lazy_property
    def _scripts(self) -> list[LexborNode]:
        return self.page.tree.css("script")[:_MAX_ELEMENTS] if self._mentions(SCRIPT_WORDS) else []

    def in_scripts(self, pattern: re.Pattern[str]) -> str | None:
        for node in self._scripts:
            found = pattern.search(node.attributes.get("src") or "") or pattern.search(node.text(deep=True) or "")
            if found:
                return found[0]
        return None

    @lazy_property
    def content_mark(self) -> str | None:
        """The content type that the page declares in JSON-LD, microdata or og:type, such as an article or a product."""
        described = self.page.tree.css('script[type="application/ld+json" i]')[:50] if b"ld+json" in self.source else []
        for node in described:
            if found := _LD_TYPE.search(node.text(deep=True) or ""):
                return found[0].rpartition('"')[0].rpartition('"')[2]
        for node in self.page.tree.css("[itemtype]")[:500] if b"itemtype" in self.source else []:
            if found := _ITEM_TYPE.search((node.attributes.get("itemtype") or "")[:200].rstrip()):
                return found[0].rpartition("/")[2]
        kind = self._meta('meta[property="og:type"]') if b"og:type" in self.source else ""
        return kind if kind.startswith(("article", "product", "book", "video", "music", "profile")) else None

    def _meta(self, selector: str) -> str:
        node = self.first(selector)
        return (node.attributes.get("content") or "").lower()[:500] if node is not None else ""

    @lazy_property
    def is_article(self) -> bool:
        if b"<article" not in self.page.mentioned or len(self.prose) < 400:
            return False
        return self.first("article") is not None and len(self.page.tree.css("p")) >= 3

    @lazy_property
    def is_noindex(self) -> bool:
        if "noindex" in self.response.headers.get("x-robots-tag", "").lower():
            return True
        return b"noindex" in self.page.mentioned and "noindex" in self._meta("meta[name=robots i]")

    @lazy_property
    def is_listing(self) -> bool:
        """Whether the page has many links, images, rows or list items."""
        counts = {"a[href]": (b"<a", 30), "img": (b"<img", 8), "tr": (b"<tr", 8), "li": (b"<li", 40)}
        return any(
            self.source.count(tag) >= count and len(self.page.tree.css(selector)) >= count
            for selector, (tag, count) in counts.items()
        )

    @lazy_property
    def refresh(self) -> bool:
        return "url=" in self._meta("meta[http-equiv=refresh i]").replace(" ", "")

    @lazy_property
    def is_blank(self) -> bool:
        """Whether the page has nothing to read, to look at or to click."""
        visible = "a[href], img, picture, video, audio, iframe, frame, object, embed, canvas, svg, table, "
        visible += "form, input, button, textarea, select"
        return self.has_little_prose and len(self.prose) < 40 and self.first(visible) is None

    @lazy_property
    def root_classes(self) -> str:
        nodes = (self.page.tree.root, self.page.tree.body)
        return " ".join((node.attributes.get("class") or "")[:1000] for node in nodes if node is not None).lower()

    # -- addresses ---------------------------------------------------------------------------------------

    @property
    def _is_redirected(self) -> bool:
        return self.response.final_url != self.response.requested_url

    @lazy_property
    def _final(self) -> SplitResult:
        return _split(self.response.final_url)

    @lazy_property
    def _requested(self) -> SplitResult:
        return _split(self.response.requested_url)

    @lazy_property
    def is_login_requested(self) -> bool:
        return bool(_segments(self._requested) & _ACCOUNT_SEGMENTS) or self._requested.netloc.startswith(_LOGIN_HOSTS)

    @lazy_property
    def redirects_to_login(self) -> bool:
        if not self._is_redirected:
            return False
        is_login = bool(_segments(self._final) & _LOGIN_SEGMENTS) or self._final.netloc.startswith(_LOGIN_HOSTS)
        return is_login and not self.is_login_requested

    @lazy_property
    def carries_requested_path(self) -> bool:
        path = self._requested.path if self._is_redirected else ""
        return len(path) > 1 and path != self._final.path and path in unquote(self._final.query)

    @lazy_property
    def redirects_to_not_found(self) -> bool:
        return self._is_redirected and bool((_segments(self._final) - _segments(self._requested)) & _NOT_FOUND_SEGMENTS)

    @lazy_property
    def redirects_home(self) -> bool:
        if not self._is_redirected:
            return False
        return len(self._requested.path) > 1 and self._final.path in ("", "/") and not self._requested.query


def _take_chars(pieces: Iterator[str], chars: int) -> list[str]:
    """Return the next pieces until they have the given number of characters."""
    prefix: list[str] = []
    while chars > 0 and (piece := next(pieces, None)) is not None:
        prefix.append(piece)
        chars -= len(piece)
    return prefix


def _prose_of(body: LexborNode | None, *, may_hide: bool) -> Iterator[str]:
    """Yield the texts outside menus, links and scripts, in document order."""
    stack = [body.iter(include_text=True)] if body is not None else []
    visited = 0
    while stack and visited < _MAX_NODES:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        visited += 1
        if node.is_text_node:
            text = node.text_content or ""
            if not text.isspace():
                yield " ".join(text.split())
            continue
        tag = node.tag or "-"
        if tag[0] != "-" and tag not in _NOT_PROSE and not (may_hide and "hidden" in node.attributes):
            stack.append(node.iter(include_text=True))


def _is_prose(node: LexborNode | None, prose_by_id: dict[int, bool], *, may_hide: bool) -> bool:
    """Return whether neither an element nor one of its ancestors is a menu, a link or the like.

    `prose_by_id` caches the result for every visited element.
    """
    path: list[int] = []
    known: bool | None = None
    while node is not None and known is None:
        known = prose_by_id.get(node.mem_id)
        if known is None:
            path.append(node.mem_id)
            if node.tag in _NOT_PROSE or (may_hide and "hidden" in node.attributes):
                known = False
            node = node.parent
    is_prose = known is not False
    prose_by_id.update(dict.fromkeys(path, is_prose))
    return is_prose


def _is_beside(node: LexborNode | None) -> bool:
    while node is not None:
        if node.tag in _BESIDE or "hidden" in node.attributes:
            return True
        node = node.parent
    return False


def _is_filled_in(node: LexborNode) -> bool:
    attributes = node.attributes
    name = f"{attributes.get('name')} {attributes.get('id')} {attributes.get('class')}".lower()
    kind = (attributes.get("type") or "").lower() if node.tag == "input" else ""
    return kind in _FILLED_IN and "captcha" not in name and "turnstile" not in name


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url[:8000].lower())
    except ValueError:
        return SplitResult("", "", "", "", "")


def _segments(url: SplitResult) -> frozenset[str]:
    """Return the segments of the path, without file extensions."""
    return frozenset(part.partition(".")[0] for part in url.path.split("/") if part)
