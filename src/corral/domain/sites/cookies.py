"""Cookies that sites set during one run: sent back within it, to whom they are for, and forgotten with it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from corral.domain.net.url import Target
from corral.domain.secret import Secret
from corral.domain.sites.session import Cookie

_MAX_PER_HOST = 50
_MAX_CHARS = 4096


@dataclass(slots=True)
class RunCookies:
    """`version` rises with each change: a redirect back to where we were is no loop if it gave us a cookie first."""

    version: int = 0
    _cookies: dict[tuple[str, str, str], Cookie] = field(default_factory=dict, repr=False)
    _set_by: dict[str, int] = field(default_factory=dict, repr=False)

    def take(self, target: Target, lines: Iterable[str], now_s: float) -> None:
        """What the target said with Set-Cookie. What it may not set, and what is too much, is dropped."""
        for line in lines:
            cookie = _parse_cookie(target, line, now_s)
            if cookie is None:
                continue
            place = (cookie.domain, cookie.path, cookie.name)
            known = self._cookies.get(place)
            if cookie.expires is not None and cookie.expires <= now_s:
                self.version += self._cookies.pop(place, None) is not None
            elif known is None and self._set_by.get(target.host, 0) >= _MAX_PER_HOST:
                continue
            elif known != cookie:
                self._set_by[target.host] = self._set_by.get(target.host, 0) + (known is None)
                self._cookies[place] = cookie
                self.version += 1

    def header_for(self, target: Target, now_s: float, given: str = "") -> str:
        """The Cookie header for this target: `given` is that of a session, in which newer values replace older ones."""
        fitting = [cookie for cookie in self._cookies.values() if cookie.matches(target, now_s)]
        newer = {cookie.name: cookie.value.reveal() for cookie in sorted(fitting, key=lambda each: len(each.path))}
        older = [pair for pair in given.split("; ") if pair and pair.partition("=")[0] not in newer]
        return "; ".join([*older, *(f"{name}={value}" for name, value in newer.items())])


def _parse_cookie(target: Target, line: str, now_s: float) -> Cookie | None:
    """RFC 6265, 5.2 and 5.3, read strictly; None for what is not taken."""
    pair, *rest = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or len(pair) > _MAX_CHARS or not pair.isascii() or not pair.isprintable():
        return None
    told = {key.strip().lower(): text.strip() for key, _, text in (each.partition("=") for each in rest)}
    domain = _domain(target, told.get("domain", ""))
    is_secure = "secure" in told
    if domain is None or (is_secure and target.scheme != "https"):
        return None
    path = told.get("path", "")
    return Cookie(
        name,
        Secret(value),
        domain,
        path if path.startswith("/") else _default_path(target.path),
        _expires(told, now_s),
        is_secure,
        "httponly" in told,
    )


def _domain(target: Target, told: str) -> str | None:
    bare = told.removeprefix(".").lower()
    if not bare:
        return target.host
    if bare == target.host:
        return target.host if target.is_literal_ip else f".{bare}"
    # Not for a whole top-level domain, and only for one that the host is in.
    if target.is_literal_ip or "." not in bare or not target.host.endswith(f".{bare}"):
        return None
    return f".{bare}"


def _default_path(path: str) -> str:
    return path[: path.rfind("/")] or "/"


def _expires(told: dict[str, str], now_s: float) -> float | None:
    seconds = told.get("max-age", "")
    if seconds.removeprefix("-").isascii() and seconds.removeprefix("-").isdigit():
        return now_s + int(seconds[:12])
    try:
        when = parsedate_to_datetime(told["expires"][:100].replace("-", " ")) if "expires" in told else None
        return None if when is None else (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
