"""The only URL parser: no other code decides from a URL where to connect.

Two parsers that disagree about the host send requests to the wrong machine, so the parser refuses anything
ambiguous (backslashes, userinfo, control characters, odd numbers) instead of repairing it.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

import idna

from corral.domain.errors import BadInput

MAX_URL_CHARS = 2048
DEFAULT_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_HOST_FORBIDDEN = frozenset("/\\?#@:[]%<>^|\"'`{}!$&()*+,;=~")
# Dots that browsers and resolvers treat as a full stop.
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_PATH_SAFE = "/%:@!$&'()*+,;=~-._"
_QUERY_SAFE = _PATH_SAFE + "?[]"
# Paths that need no quoting: nearly all of them, checked with one match.
_PLAIN = re.compile(r"[A-Za-z0-9/%:@!$&'()*+,;=~._-]*")
_AUTHORITY_END = re.compile(r"[/?#]")


class BadScheme(BadInput):
    """The scheme is neither http nor https."""


@dataclass(frozen=True, slots=True)
class Target:
    url: str  # canonical, with its fragment: a browser needs it
    scheme: str
    host: str  # lower-case ASCII; an IPv6 address without brackets
    port: int
    path: str
    query: str | None
    is_literal_ip: bool

    @property
    def authority(self) -> str:
        return self.origin.partition("://")[2]

    @property
    def origin(self) -> str:
        return _origin(self.scheme, self.host, self.port)

    @property
    def request_url(self) -> str:
        """Return the URL to request: without its fragment."""
        return self.origin + self.path + ("" if self.query is None else f"?{self.query}")


def parse_target(text: str, *, field: str = "target_url", max_chars: int = MAX_URL_CHARS) -> Target:
    """Parse a URL; BadInput says what is wrong with it and what to write instead."""
    if len(text) <= max_chars:
        try:
            return _parse_cached(text)
        except BadInput:
            pass  # raised again below, with the name of the field
    return _parse(text, field, max_chars)


# Memo: the address of one page is parsed at every stage that handles it.
@lru_cache(maxsize=512)
def _parse_cached(text: str) -> Target:
    return _parse(text, "", len(text))


def _parse(text: str, field: str, max_chars: int) -> Target:
    _check_characters(text, field, max_chars)
    scheme, rest = _split_scheme(text, field)
    authority, tail = _split_authority(rest, field)
    host, port_text = _split_port(authority, field)
    host, is_literal = _normal_host(host, field)
    port = _parse_port(port_text, field) if port_text is not None else DEFAULT_PORTS[scheme]
    before, _, fragment = tail.partition("#")
    path, mark, rest = before.partition("?")
    path = _quote(_without_dot_segments(path) or "/", _PATH_SAFE)
    query = _quote(rest, _QUERY_SAFE) if mark else None
    url = _origin(scheme, host, port) + path + (f"?{query}" if mark else "")
    if fragment:
        url += f"#{_quote(fragment, _QUERY_SAFE)}"
    return Target(url, scheme, host, port, path, query, is_literal)


def _origin(scheme: str, host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if port == DEFAULT_PORTS[scheme] else f"{scheme}://{name}:{port}"


def _quote(text: str, safe: str) -> str:
    return text if _PLAIN.fullmatch(text) else quote(text, safe=safe)


def join(base: Target, reference: str, *, field: str = "location") -> Target:
    """Resolve a redirect or link against `base` and parse the result as strictly as any other URL."""
    limit = 4 * MAX_URL_CHARS
    # Spaces are common in Location headers and unambiguous.
    text = reference.strip(" ").replace(" ", "%20")
    _check_characters(text, field, limit)
    match = _SCHEME.fullmatch(text)
    if match:
        absolute = text
    elif text.startswith("//"):
        absolute = f"{base.scheme}:{text}"
    elif text.startswith("/"):
        absolute = base.origin + text
    elif text.startswith("?"):
        absolute = base.origin + base.path + text
    elif text.startswith("#"):
        absolute = base.request_url + text
    else:
        absolute = base.origin + base.path[: base.path.rfind("/") + 1] + text
    return parse_target(absolute, field=field, max_chars=limit)


def _bad(field: str, message: str, hint: str) -> BadInput:
    return BadInput(message, field=field, hint=hint, code="bad_url")


def _check_characters(text: str, field: str, max_chars: int) -> None:
    if not text:
        raise _bad(field, "the URL is empty", "write a whole URL such as https://example.com/page")
    if len(text) > max_chars:
        raise _bad(field, f"the URL has {len(text)} characters, more than {max_chars}", "use a shorter address")
    if "\\" in text:
        raise _bad(field, "the URL contains a backslash", "write / for path separators, %5C for a backslash")
    if text.isascii() and text.isprintable() and " " not in text:
        return  # nearly every URL; avoids a check of each character
    for char in text:
        category = unicodedata.category(char)
        if category == "Cc" or char.isspace():
            raise _bad(field, f"the URL contains a space or control character ({char!a})", "percent-encode it")
        if category == "Cs":
            raise _bad(field, "the URL contains half a surrogate pair", "write it as valid Unicode")


def _split_scheme(text: str, field: str) -> tuple[str, str]:
    match = _SCHEME.fullmatch(text)
    hint = "start the URL with http:// or https://"
    if match is None:
        raise BadScheme("the URL has no scheme", field=field, hint=hint, code="bad_url")
    scheme, rest = match[1].lower(), match[2]
    if scheme not in DEFAULT_PORTS:
        raise BadScheme(f"the scheme {scheme[:20]!r} is not fetched", field=field, hint=hint, code="bad_url")
    return scheme, rest


def _split_authority(rest: str, field: str) -> tuple[str, str]:
    if not rest.startswith("//"):
        raise _bad(field, "the scheme is not followed by //", "write it as https://host/path")
    match = _AUTHORITY_END.search(rest, 2)
    end = match.start() if match else len(rest)
    authority, tail = rest[2:end], rest[end:]
    if "@" in authority:
        raise _bad(field, "the URL carries a user name or password", "remove everything up to and including the @")
    return authority, tail


def _split_port(authority: str, field: str) -> tuple[str, str | None]:
    """Split host and port as written; an IPv6 host keeps its brackets."""
    if authority.startswith("["):
        host, bracket, after = authority.partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise _bad(field, "the brackets around the IPv6 address do not match", "write http://[::1]:8080/")
        return host + bracket, after[1:] if after else None
    host, colon, port = authority.partition(":")
    return host, port if colon else None


def _parse_port(text: str, field: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise _bad(field, f"the port {text[:20]!r} is not a number from 1 to 65535", "correct or drop the port")
    return int(text)


# Memo: normalising the host is the slowest part of parsing an address (5 us), and a site has many pages.
@lru_cache(maxsize=4096)
def _normal_host(host: str, field: str) -> tuple[str, bool]:
    if host.startswith("["):
        return _normal_ipv6(host[1:-1], field), True
    if not host:
        raise _bad(field, "the URL has no host", "write it as https://host/path")
    name = unicodedata.normalize("NFKC", host).translate(_DOTS).lower()
    if not name.isascii():
        name = _idna(name, field)
    # Checked after normalization, which turns full-width forms into these characters.
    if any(char in _HOST_FORBIDDEN or char.isspace() or not char.isprintable() for char in name):
        raise _bad(field, f"the host {host[:80]!r} contains a forbidden character", "write the plain host name")
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _normal_ipv4(labels, host, field), True
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _bad(
            field,
            f"{host[:80]!r} is not a host name",
            "labels are letters, digits and hyphens, 1 to 63 long, joined by dots",
        )
    return name, False


def _idna(name: str, field: str) -> str:
    try:
        return idna.encode(name, uts46=True, transitional=False).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise _bad(field, f"{name[:80]!r} is not a valid international host name", "check its spelling") from None


def _normal_ipv6(text: str, field: str) -> str:
    try:
        # ipaddress accepts zone ids, which have no meaning on the public network.
        if "%" in text or not text.isascii():
            raise ValueError(text)
        return str(ipaddress.IPv6Address(text))
    except ValueError:
        raise _bad(field, f"[{text[:60]}] is not an IPv6 address", "write it plainly, without a zone id") from None


def _normal_ipv4(labels: list[str], host: str, field: str) -> str:
    """Parse an IPv4 address in any form that C libraries accept (octal, hexadecimal, fewer than four parts)."""
    try:
        numbers = [_number(label) for label in labels]
        if len(numbers) > 4 or any(number > 255 for number in numbers[:-1]):
            raise ValueError(host)
        value = numbers[-1]
        if value >= 256 ** (5 - len(numbers)):
            raise ValueError(host)
        for index, number in enumerate(numbers[:-1]):
            value += number << (8 * (3 - index))
        return str(ipaddress.IPv4Address(value))
    except ValueError:
        raise _bad(
            field,
            f"{host[:80]!r} is not a valid IPv4 address",
            "write four decimal numbers, such as 192.0.2.1",
        ) from None


def _number(label: str) -> int:
    if not _NUMBER.fullmatch(label) or len(label) > 40:
        raise ValueError(label)
    if label[:2] in ("0x", "0X"):
        return int(label[2:] or "0", 16)
    return int(label, 8) if label.startswith("0") and len(label) > 1 else int(label)


def _without_dot_segments(path: str) -> str:
    if "." not in path and "%2" not in path:
        return path
    result: list[str] = []
    segments = path.split("/")
    for index, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        is_last = index == len(segments) - 1
        if plain == "..":
            if len(result) > 1:
                result.pop()
        elif plain != ".":
            result.append(segment)
            continue
        if is_last and plain in (".", ".."):
            result.append("")
    return "/".join(result)
