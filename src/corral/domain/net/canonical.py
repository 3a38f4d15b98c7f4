"""Decide when two URLs are one page: `canonical_url` is fetched and displayed, `url_key` identifies a crawl item.

Both use the strict parser of `domain.net.url`. A crawl needs them for every link of every page, so plain links take a
fast path, which gives the same result or falls back to the strict parser.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from corral.domain.errors import BadInput
from corral.domain.net.session_ids import is_session_id, without_sessions
from corral.domain.net.url import DEFAULT_PORTS, MAX_URL_CHARS, Target, join, parse_target

# Tracking parameters, which never select content. Ambiguous ones (`ref`, `source`, `spm`) are kept: pages may differ by
# them.
_TRACKING = "gclid gclsrc dclid gbraid wbraid srsltid fbclid igshid igsh msclkid yclid ysclid twclid ttclid li_fat_id"
_MAILINGS = "mc_cid mc_eid _ga _gl _hsenc _hsmi mkt_tok vero_id oly_enc_id oly_anon_id wickedid rb_clickid s_cid"
_DROPPED = frozenset(" ".join((_TRACKING, _MAILINGS)).split())
_DROPPED_STARTS = ("utm_", "hsa_", "pk_", "mtm_")
_NONE: frozenset[str] = frozenset()

# Escapes to normalize: unnecessary ones, and those in lower case. Most escapes in long queries need no change.
_ESCAPE = re.compile(
    "%(?:2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe]|[0-9A-Fa-f][a-f]|[a-f][0-9A-Fa-f])"
)
_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DOTS = re.compile(r"/(?:\.|%2[Ee]){1,2}(?:/|$)")
_ANYWHERE = parse_target("http://x/")

# References that every parser reads in the same way: no hidden scheme, no escapes, no parameters in the path.
_WORD = r"[A-Za-z0-9_~!$'()*,=@./-]*"
_REFERENCE = re.compile(
    rf"(?:(https?://[a-z0-9.-]+(?::[0-9]{{1,5}})?)(?=[/?]|$))?({_WORD})(?:\?([A-Za-z0-9_~!$'()*,=@./&-]*))?"
)
_MAX_CHARS = 4 * MAX_URL_CHARS
# Menus repeat on every page of a site. A miss costs a few microseconds, an entry half a kilobyte. Very long links are
# not cached: a hostile page would fill the memory.
_REMEMBERED = 16_384
_MAX_PLAIN_CHARS = 300
_MAX_BASE_CHARS = 500


class Link(NamedTuple):
    url: str
    key: str
    has_session: bool = False  # True if the URL contained a session id, which the key omits


def canonical_url(target: Target) -> str:
    """Return the URL to fetch and display: without a fragment, with normalized escapes."""
    return link_of(target).url


def url_key(target: Target, counting_params: frozenset[str] = _NONE) -> str:
    """Return the key that identifies an item of a crawl. `counting_params` (lower case) always count.

    Beyond the canonical form, the key ignores: the scheme (most sites link the same page both ways, and hardly any site
    serves another page over http; other ports do count), the order of parameters with different names, an empty query,
    tracking parameters, apparent session ids (domain.net.session_ids), `+` against `%20` in the query, and `%2F` if it
    only hides dots. A trailing slash counts: only the answers show whether `/x` and `/x/` are one page.

    The case of the path counts: `/wiki/AIDS` and `/wiki/Aids` are two pages, and a page that is never fetched is a
    greater loss than a page that is fetched twice. On sites that accept every spelling, the template
    (`domain.crawl.templates.traps`), which ignores case, holds back the copies.
    """
    return link_of(target, counting_params).key


def link_of(target: Target, counting_params: frozenset[str] = _NONE) -> Link:
    path = normalize_escapes(target.path)
    query = None if target.query is None else normalize_escapes(target.query)
    url = target.origin + path + ("" if query is None else f"?{query}")
    return _link_with(url, _authority_key(target.scheme, target.host, target.port), path, query, counting_params)


def link_to(base: Target, reference: str, counting_params: frozenset[str] = _NONE) -> Link | None:
    """Resolve a link with the strict parser; None if its target cannot be fetched."""
    try:
        return link_of(join(base, reference), counting_params)
    except BadInput:
        return None


def links_to(base: Target, references: Sequence[str], counting_params: frozenset[str] = _NONE) -> list[Link | None]:
    """Resolve many links as `link_to` does, in order and much faster."""
    origin = base.origin
    folder = base.path[: base.path.rfind("/") + 1]
    links: list[Link | None] = []
    itself: Link | None = None
    if len(base.url) > _MAX_BASE_CHARS:
        return [link_to(base, reference, counting_params) for reference in references]
    for reference in references:
        head, mark, fragment = reference.partition("#")
        # The strict parser checks fragments too, and refuses some.
        if len(reference) > _MAX_PLAIN_CHARS or (mark and not _is_harmless(fragment)) or " " in head:
            links.append(link_to(base, reference, counting_params))
        elif head:
            if head[0] == "?":
                links.append(link_to(base, head, counting_params))
            else:
                # A path from the root does not depend on the folder: one cache entry serves the whole site.
                links.append(_link(origin, "/" if head[0] == "/" else folder, head, counting_params))
        elif mark:
            itself = itself or link_of(base, counting_params)
            links.append(itself)
        else:
            links.append(None)
    return links


def _is_harmless(fragment: str) -> bool:
    return fragment.isascii() and fragment.isprintable() and "\\" not in fragment


# Memo: the pages of a site repeat their links. Without the memos of this package, reading a crawled page with 15 links
# takes 0.97 ms of processor time instead of 0.51 ms.
@lru_cache(maxsize=_REMEMBERED)
def _link(origin: str, folder: str, head: str, counting_params: frozenset[str]) -> Link | None:
    above, rest = folder, head
    while rest.startswith("../"):
        above = above[: above.rfind("/", 0, -1) + 1] or "/"
        rest = rest[3:]
    plain = _REFERENCE.fullmatch(rest)
    if plain is None or "/." in rest or rest[:1] == "." or rest[:2] == "//" or (rest != head and _begins_anew(rest)):
        return link_to(parse_target(origin + folder, max_chars=_MAX_CHARS), head, counting_params)
    there, path, query = plain.groups()
    if there is not None:
        authority = _origin_of(there)
        if authority is None:
            return None
        origin, path = authority, path or "/"
    elif path[:1] != "/":
        path = above + path
    path = normalize_escapes(path)
    url = origin + path if query is None else f"{origin}{path}?{query}"
    return _link_with(url, _authority_key_of(origin), path, query, counting_params)


def _begins_anew(rest: str) -> bool:
    """True if the rest of `../rest` would be read as an absolute URL."""
    return rest[:1] == "/" or rest[:4] == "http"


# Memo: a crawl meets few origins, each on every page.
@lru_cache(maxsize=4096)
def _origin_of(text: str) -> str | None:
    try:
        return parse_target(text).origin
    except BadInput:
        return None


# Memo: a crawl meets few origins, each on every page.
@lru_cache(maxsize=4096)
def _authority_key_of(origin: str) -> str:
    target = parse_target(origin)
    return _authority_key(target.scheme, target.host, target.port)


def _authority_key(scheme: str, host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"//{name}" if port == DEFAULT_PORTS[scheme] else f"//{name}:{port}"


def normalize_escapes(text: str) -> str:
    """Write escapes in upper case and decode the unnecessary ones.

    A text with a stray percent sign stays unchanged: decoding around it could turn it into an escape.
    """
    if "%" not in text or _STRAY.search(text):
        return text
    return _ESCAPE.sub(_normalize_escape, text)


def _normalize_escape(match: re.Match[str]) -> str:
    char = chr(int(match[0][1:], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _link_with(url: str, authority: str, path: str, query: str | None, counting_params: frozenset[str]) -> Link:
    """Build the link; `path` and `query` have normalized escapes."""
    has_session = False
    if ";" in path and (bare := without_sessions(path, counting_params)) != path:
        # The rest of the path may contain other escapes, or dots.
        path, has_session = _without_hidden_dots(normalize_escapes(bare)), True
    elif "%2F" in path and "." in path:
        path = _without_hidden_dots(path)
    parts = query.split("&") if query else ()
    counting = [part for part in parts if part and not _is_dropped(part, counting_params)]
    if len(counting) < len(parts):
        has_session = has_session or any(_is_session(part, counting_params) for part in parts)
    wanted = _in_order(counting, is_shorter=len(counting) < len(parts)) if counting else ""
    return Link(url, f"{authority}{path or '/'}?{wanted}" if wanted else authority + (path or "/"), has_session)


def _without_hidden_dots(path: str) -> str:
    """Resolve escaped dot segments.

    Servers that decode before routing serve `/a/..%2Fb` as `/b`, so one page would have many names.
    """
    opened = path.replace("%2F", "/")
    if len(path) > MAX_URL_CHARS or not _DOTS.search(opened):
        return path
    return join(_ANYWHERE, opened if not opened.startswith("//") else "/." + opened).path


def _in_order(parts: list[str], *, is_shorter: bool) -> str:
    query = "&".join(parts)
    if "+" in query:
        query = query.replace("+", "%20")
    if "%" in query and is_shorter:
        query = normalize_escapes(query)
    if len(parts) == 1:
        return query
    # By name only: the order of parameters with the same name may matter.
    return "&".join(sorted(query.split("&"), key=_name))


def _name(part: str) -> str:
    return part.partition("=")[0]


def _is_dropped(part: str, counting_params: frozenset[str]) -> bool:
    name = part.partition("=")[0].lower()
    if name in counting_params:
        return False
    return name in _DROPPED or name.startswith(_DROPPED_STARTS) or _is_session(part, counting_params)


def _is_session(part: str, counting_params: frozenset[str]) -> bool:
    name, _, value = part.partition("=")
    name = name.lower()
    return name not in counting_params and is_session_id(name, value)
