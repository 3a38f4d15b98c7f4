"""Cookies that sites set during one run: sent back to matching hosts within the run, then dropped."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from corral.domain.net.public_suffix import is_public_suffix
from corral.domain.net.url import Target
from corral.domain.secret import Secret
from corral.domain.sites.session import Cookie

_MAX_PER_HOST = 50
_MAX_CHARS = 4096


@dataclass(slots=True)
class RunCookies:
    """Cookies of one run.

    `version` rises with each change: a redirect back to the same URL is not a loop if it set a cookie first.
    """

    version: int = 0
    _cookies: dict[tuple[str, str, str], Cookie] = field(default_factory=dict, repr=False)
    _set_by: dict[str, int] = field(default_factory=dict, repr=False)

    def take(self, target: Target, lines: Iterable[str], now_s: float) -> None:
        """Store the Set-Cookie lines of an answer, except cookies beyond the limit or not for the target to set."""
        for line in lines:
            cookie = _parse_cookie(target, line, now_s)
            if cookie is None:
                continue
            key = (cookie.domain, cookie.path, cookie.name)
            previous = self._cookies.get(key)
            if cookie.expires is not None and cookie.expires <= now_s:
                self.version += self._cookies.pop(key, None) is not None
            elif previous is None and self._set_by.get(target.host, 0) >= _MAX_PER_HOST:
                continue
            elif previous != cookie:
                self._set_by[target.host] = self._set_by.get(target.host, 0) + (previous is None)
                self._cookies[key] = cookie
                self.version += 1

    def header_for(self, target: Target, now_s: float, session: str = "") -> str:
        """Return the Cookie header for a target: cookies of the run replace those of the `session` header."""
        fitting = [cookie for cookie in self._cookies.values() if cookie.matches(target, now_s)]
        newer = {cookie.name: cookie.value.reveal() for cookie in sorted(fitting, key=lambda each: len(each.path))}
        older = [pair for pair in session.split("; ") if pair and pair.partition("=")[0] not in newer]
        return "; ".join([*older, *(f"{name}={value}" for name, value in newer.items())])


def _parse_cookie(target: Target, line: str, now_s: float) -> Cookie | None:
    """Parse a Set-Cookie line by RFC 6265, 5.2 and 5.3; None if the cookie is refused."""
    pair, *rest = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or len(pair) > _MAX_CHARS or not pair.isascii() or not pair.isprintable():
        return None
    attributes = {key.strip().lower(): text.strip() for key, _, text in (each.partition("=") for each in rest)}
    domain = _domain(target, attributes.get("domain", ""))
    is_secure = "secure" in attributes
    if domain is None or (is_secure and target.scheme != "https"):
        return None
    path = attributes.get("path", "")
    return Cookie(
        name,
        Secret(value),
        domain,
        path if path.startswith("/") else _default_path(target.path),
        _expires(attributes, now_s),
        is_secure,
        "httponly" in attributes,
    )


def _domain(target: Target, attribute: str) -> str | None:
    """Return the domain of the cookie, with a leading dot if it covers subdomains; None if the cookie is refused."""
    bare = attribute.removeprefix(".").lower()
    if not bare:
        return target.host
    if bare == target.host:
        # A host that is itself a public suffix may set a cookie for that host only: RFC 6265, 5.3, step 5.
        return target.host if target.is_literal_ip or is_public_suffix(bare) else f".{bare}"
    if target.is_literal_ip or not target.host.endswith(f".{bare}") or is_public_suffix(bare):
        return None
    return f".{bare}"


def _default_path(path: str) -> str:
    return path[: path.rfind("/")] or "/"


def _expires(attributes: dict[str, str], now_s: float) -> float | None:
    seconds = attributes.get("max-age", "")
    if seconds.removeprefix("-").isascii() and seconds.removeprefix("-").isdigit():
        return now_s + int(seconds[:12])
    try:
        when = parsedate_to_datetime(attributes["expires"][:100].replace("-", " ")) if "expires" in attributes else None
        return None if when is None else (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
