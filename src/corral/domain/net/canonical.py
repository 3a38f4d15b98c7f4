"""When two addresses are one page. `canonical_url` is what is fetched and shown, `url_key` what makes an item the same.

Both come out of the one strict parser of `domain.net.url`. A crawl asks for every link of every page, so plain links
take a shorter way; it ends in the same answer, or in the strict parser.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from corral.domain.errors import BadInput
from corral.domain.net.session_ids import is_session_id, without_sessions
from corral.domain.net.url import DEFAULT_PORTS, MAX_URL_CHARS, Target, join, parse_target

# Where a visitor came from, never what is shown. Ambiguous ones (`ref`, `source`, `spm`) stay: pages differ by them.
_TRACKING = "gclid gclsrc dclid gbraid wbraid srsltid fbclid igshid igsh msclkid yclid ysclid twclid ttclid li_fat_id"
_MAILINGS = "mc_cid mc_eid _ga _gl _hsenc _hsmi mkt_tok vero_id oly_enc_id oly_anon_id wickedid rb_clickid s_cid"
_DROPPED = frozenset(" ".join((_TRACKING, _MAILINGS)).split())
_DROPPED_STARTS = ("utm_", "hsa_", "pk_", "mtm_")
_NONE: frozenset[str] = frozenset()

# Escapes that are not as they should be: of what needs none, or with small letters. Long queries are full of good ones.
_ESCAPE = re.compile(
    "%(?:2[DdEe]|3[0-9]|4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9AaEe]|[0-9A-Fa-f][a-f]|[a-f][0-9A-Fa-f])"
)
_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DOTS = re.compile(r"/(?:\.|%2[Ee]){1,2}(?:/|$)")
_ANYWHERE = parse_target("http://x/")

# References on which every parser agrees: no scheme in disguise, no escapes, no parameters in the path.
_WORD = r"[A-Za-z0-9_~!$'()*,=@./-]*"
_REFERENCE = re.compile(
    rf"(?:(https?://[a-z0-9.-]+(?::[0-9]{{1,5}})?)(?=[/?]|$))?({_WORD})(?:\?([A-Za-z0-9_~!$'()*,=@./&-]*))?"
)
_MAX_CHARS = 4 * MAX_URL_CHARS
# Menus are the same on every page of a site. A miss costs a few microseconds, an entry half a kilobyte; what is longer
# than nearly all links is not remembered, or a page made for it would fill the memory.
_REMEMBERED = 16_384
_MAX_PLAIN_CHARS = 300
_MAX_BASE_CHARS = 500


class Link(NamedTuple):
    url: str
    key: str
    has_session: bool = False  # a session id that does not count was part of the address


def canonical_url(target: Target) -> str:
    """The address that is fetched and shown: no fragment, and one spelling of every escape."""
    return link_of(target).url


def url_key(target: Target, kept: frozenset[str] = _NONE) -> str:
    """What makes two addresses the same item of a crawl. Parameters named in `kept` (in small letters) always count.

    Beyond the canonical form, these do not count: the scheme (the same page is linked both ways on most sites, and
    one that serves another page over http is all but unknown; other ports do count), the order of parameters of
    different names, an empty query, tracking parameters, what looks like a session id (domain.net.session_ids), `+`
    against `%20` in the query, `%2F` where it only hides dots. A slash at the end counts: whether `/x` and `/x/` are
    one page, only the answers can tell.

    The case of the path counts: `/wiki/AIDS` and `/wiki/Aids` are two pages, and a page that was never fetched is a
    greater loss than one that was fetched twice. Sites that take every spelling are held back by their template
    (`domain.crawl.traps`), which does not count the case.
    """
    return link_of(target, kept).key


def link_of(target: Target, kept: frozenset[str] = _NONE) -> Link:
    path = normalize_escapes(target.path)
    query = None if target.query is None else normalize_escapes(target.query)
    url = target.origin + path + ("" if query is None else f"?{query}")
    return _link_with(url, _authority_key(target.scheme, target.host, target.port), path, query, kept)


def link_to(base: Target, reference: str, kept: frozenset[str] = _NONE) -> Link | None:
    """Where a link leads, by the strict parser; None where it leads to nothing that can be fetched."""
    try:
        return link_of(join(base, reference), kept)
    except BadInput:
        return None


def links_to(base: Target, references: Sequence[str], kept: frozenset[str] = _NONE) -> list[Link | None]:
    """`link_to` for each of them, in their order, in a fraction of the time."""
    origin = base.origin
    folder = base.path[: base.path.rfind("/") + 1]
    found: list[Link | None] = []
    itself: Link | None = None
    if len(base.url) > _MAX_BASE_CHARS:
        return [link_to(base, reference, kept) for reference in references]
    for reference in references:
        head, mark, fragment = reference.partition("#")
        # The strict parser looks at fragments, too, and refuses some.
        if len(reference) > _MAX_PLAIN_CHARS or (mark and not _is_harmless(fragment)) or " " in head:
            found.append(link_to(base, reference, kept))
        elif head:
            if head[0] == "?":
                found.append(link_to(base, head, kept))
            else:
                # What begins with a slash does not depend on the folder, and is remembered for all of the site.
                found.append(_link(origin, "/" if head[0] == "/" else folder, head, kept))
        elif mark:
            itself = itself or link_of(base, kept)
            found.append(itself)
        else:
            found.append(None)
    return found


def _is_harmless(fragment: str) -> bool:
    return fragment.isascii() and fragment.isprintable() and "\\" not in fragment


@lru_cache(maxsize=_REMEMBERED)
def _link(origin: str, folder: str, head: str, kept: frozenset[str]) -> Link | None:
    above, rest = folder, head
    while rest.startswith("../"):
        above = above[: above.rfind("/", 0, -1) + 1] or "/"
        rest = rest[3:]
    plain = _REFERENCE.fullmatch(rest)
    if plain is None or "/." in rest or rest[:1] == "." or rest[:2] == "//" or (rest != head and _begins_anew(rest)):
        return link_to(parse_target(origin + folder, max_chars=_MAX_CHARS), head, kept)
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
    return _link_with(url, _authority_key_of(origin), path, query, kept)


def _begins_anew(rest: str) -> bool:
    """True where the rest of `../rest` would be read as an address of its own."""
    return rest[:1] == "/" or rest[:4] == "http"


@lru_cache(maxsize=4096)
def _origin_of(text: str) -> str | None:
    try:
        return parse_target(text).origin
    except BadInput:
        return None


@lru_cache(maxsize=4096)
def _authority_key_of(origin: str) -> str:
    target = parse_target(origin)
    return _authority_key(target.scheme, target.host, target.port)


def _authority_key(scheme: str, host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"//{name}" if port == DEFAULT_PORTS[scheme] else f"//{name}:{port}"


def normalize_escapes(text: str) -> str:
    """Upper-case escapes, and none for what needs none.

    A text with a percent sign that begins no escape is left as it is: decoding around it could make it begin one.
    """
    if "%" not in text or _STRAY.search(text):
        return text
    return _ESCAPE.sub(_one_escape, text)


def _one_escape(match: re.Match[str]) -> str:
    char = chr(int(match[0][1:], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _link_with(url: str, authority: str, path: str, query: str | None, kept: frozenset[str]) -> Link:
    """Of a path and a query with their escapes in one spelling."""
    has_session = False
    if ";" in path and (bare := without_sessions(path, kept)) != path:
        # What hid behind the session may be spelled in two ways, or be dots.
        path, has_session = _without_hidden_dots(normalize_escapes(bare)), True
    elif "%2F" in path and "." in path:
        path = _without_hidden_dots(path)
    given = query.split("&") if query else ()
    counting = [part for part in given if part and not _is_dropped(part, kept)]
    if len(counting) < len(given):
        has_session = has_session or any(_is_session(part, kept) for part in given)
    wanted = _in_order(counting, is_shorter=len(counting) < len(given)) if counting else ""
    return Link(url, f"{authority}{path or '/'}?{wanted}" if wanted else authority + (path or "/"), has_session)


def _without_hidden_dots(path: str) -> str:
    """Servers that decode before they route serve `/a/..%2Fb` as `/b`, under any number of such names."""
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
    # By name only: among parameters of one name the order may mean something.
    return "&".join(sorted(query.split("&"), key=_name))


def _name(part: str) -> str:
    return part.partition("=")[0]


def _is_dropped(part: str, kept: frozenset[str]) -> bool:
    name = part.partition("=")[0].lower()
    if name in kept:
        return False
    return name in _DROPPED or name.startswith(_DROPPED_STARTS) or _is_session(part, kept)


def _is_session(part: str, kept: frozenset[str]) -> bool:
    name, _, value = part.partition("=")
    name = name.lower()
    return name not in kept and is_session_id(name, value)
