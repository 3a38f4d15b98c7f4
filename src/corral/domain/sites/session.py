"""Sessions: the cookies, storage and headers of a login, and the hosts that may receive them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.public_suffix import is_public_suffix
from corral.domain.net.url import Target, parse_target
from corral.domain.secret import Secret

DEFAULT_NAME = "default"
MAX_COOKIES = 1000
_SAME_SITE = {"strict": "Strict", "lax": "Lax", "none": "None", "no_restriction": "None", "unspecified": "Lax"}
_UNSENDABLE = frozenset(";\r\n\0")


class CheckResult(StrEnum):
    """The result of the last check of a session."""

    UNCHECKED = "unchecked"
    VALID = "valid"
    DEAD = "dead"
    UNKNOWN = "unknown"  # the target could not be reached


@dataclass(frozen=True, slots=True)
class Cookie:
    """A `domain` with a leading dot covers its subdomains; without one, it is a single host."""

    name: str
    value: Secret[str]
    domain: str
    path: str = "/"
    expires: float | None = None  # seconds since 1970; None for a session cookie
    secure: bool = False
    http_only: bool = False
    same_site: str = "Lax"

    def matches(self, target: Target, now_s: float) -> bool:
        """True if domain, path, scheme and time allow sending the cookie (RFC 6265, 5.4)."""
        if self.expires is not None and self.expires <= now_s:
            return False
        if self.secure and target.scheme != "https":
            return False
        return self._covers_host(target) and self._covers_path(target.path)

    def _covers_host(self, target: Target) -> bool:
        bare = self.domain.removeprefix(".")
        if target.host == bare:
            return True
        if not self.domain.startswith(".") or target.is_literal_ip or not target.host.endswith(f".{bare}"):
            return False
        return not is_public_suffix(bare)

    def _covers_path(self, path: str) -> bool:
        return path == self.path or path.startswith(self.path if self.path.endswith("/") else f"{self.path}/")


@dataclass(frozen=True, slots=True)
class SessionState:
    """The decrypted content of a session. It exists only while a session is captured or used."""

    cookies: tuple[Cookie, ...] = ()
    storage: Mapping[str, Mapping[str, Secret[str]]] = field(default_factory=dict)  # by origin
    headers: Mapping[str, Secret[str]] = field(default_factory=dict)  # sent to the job's own origin
    origin: str = ""  # of the job

    def headers_for(self, target: Target, now_s: float) -> dict[str, str]:
        """Return the headers for a target: the matching cookies, and the session headers for the job's origin."""
        sent = {name: value.reveal() for name, value in self.headers.items()} if target.origin == self.origin else {}
        # Longer paths first, as RFC 6265 requires; otherwise in the order of the session.
        fitting = sorted(
            (cookie for cookie in self.cookies if cookie.matches(target, now_s)), key=lambda each: -len(each.path)
        )
        if fitting:
            sent["cookie"] = "; ".join(f"{cookie.name}={cookie.value.reveal()}" for cookie in fitting)
        return sent

    def is_over(self, now_s: float) -> bool:
        """True if every cookie has expired and no other credentials are left to send."""
        has_ended = all(cookie.expires is not None and cookie.expires <= now_s for cookie in self.cookies)
        return has_ended and not self.storage and not self.headers

    def secrets(self) -> list[str]:
        """Return every secret value, to redact logs, events and files."""
        stored = [value for values in self.storage.values() for value in values.values()]
        return [each.reveal() for each in (*(cookie.value for cookie in self.cookies), *stored, *self.headers.values())]

    def about(self) -> dict[str, Any]:
        """Return the non-secret facts about the session."""
        ends = [cookie.expires for cookie in self.cookies if cookie.expires is not None]
        return {
            "cookies": len(self.cookies),
            "domains": sorted({cookie.domain for cookie in self.cookies}),
            "origins": sorted(self.storage),
            "headers": sorted(self.headers),
            "expires": max(ends) if ends and len(ends) == len(self.cookies) else None,
        }

    def serialize(self) -> bytes:
        """Return the whole session in clear text, ready to be sealed."""
        return json.dumps(
            {
                "cookies": [
                    [c.name, c.value.reveal(), c.domain, c.path, c.expires, c.secure, c.http_only, c.same_site]
                    for c in self.cookies
                ],
                "storage": {
                    origin: {key: value.reveal() for key, value in values.items()}
                    for origin, values in self.storage.items()
                },
                "headers": {name: value.reveal() for name, value in self.headers.items()},
                "origin": self.origin,
            }
        ).encode()

    @classmethod
    def deserialize(cls, data: bytes) -> "SessionState":
        cell = json.loads(data)
        return cls(
            tuple(Cookie(name, Secret(value), *rest) for name, value, *rest in cell["cookies"]),
            {origin: {key: Secret(text) for key, text in values.items()} for origin, values in cell["storage"].items()},
            {name: Secret(text) for name, text in cell["headers"].items()},
            cell["origin"],
        )


@dataclass(frozen=True, slots=True)
class SealedSession:
    """An encrypted session, as stored and as sent to workers. Only the vault key opens it."""

    id: str
    job_id: str
    version: int  # rises with each new content; part of the seal's context
    kid: str  # id of the vault key that wraps the data key
    wrapped_key: str
    box: str


@dataclass(frozen=True, slots=True)
class NewSession:
    """A sealed session to be stored, with its non-secret facts."""

    sealed: SealedSession
    name: str
    about: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A stored session without its content."""

    id: str
    job_id: str
    name: str
    version: int
    kid: str
    about: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    checked_at: datetime | None = None
    check: CheckResult = CheckResult.UNCHECKED


def parse_session(
    target_url: str,
    cookies: Iterable[Mapping[str, Any]],
    storage: Mapping[str, Mapping[str, str]] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    takes_headers_alone: bool = False,
) -> SessionState:
    """Parse a session in the formats that browsers and Playwright export; BadInput never quotes a value."""
    target = parse_target(target_url)
    state = SessionState(
        tuple(_cookie(cell, number, target) for number, cell in enumerate(cookies)),
        {_origin(name): {key: Secret(text) for key, text in held.items()} for name, held in (storage or {}).items()},
        {_header(name, text): Secret(text) for name, text in (headers or {}).items()},
        target.origin,
    )
    if len(state.cookies) > MAX_COOKIES:
        raise BadInput(f"a session has at most {MAX_COOKIES} cookies", field="cookies")
    if not (state.cookies or state.storage or state.headers):
        raise BadInput("the session is empty", field="cookies", hint="add at least one cookie or stored value")
    if not (state.cookies or state.storage or takes_headers_alone):
        raise BadInput(
            "headers alone are no session: runs that need a login use a browser, which does not send them",
            field="headers",
            hint="add the cookies or the storage of the login",
        )
    return state


def _cookie(cell: Mapping[str, Any], number: int, target: Target) -> Cookie:
    where = f"cookies.{number}"
    name, value = cell.get("name"), cell.get("value")
    if not isinstance(name, str) or not name or _UNSENDABLE & set(name) or "=" in name or not name.isascii():
        raise BadInput("the cookie name cannot be sent", field=f"{where}.name")
    if not isinstance(value, str) or _UNSENDABLE & set(value) or not value.isascii():
        raise BadInput("the cookie value cannot be sent", field=f"{where}.value", hint="printable ASCII")
    expires = cell.get("expires", cell.get("expirationDate"))
    ends = float(expires) if isinstance(expires, int | float) and expires > 0 else None
    path = str(cell.get("path") or "/")
    same_site = _SAME_SITE.get(str(cell.get("sameSite") or "lax").lower())
    if same_site is None:
        raise BadInput("sameSite is Strict, Lax or None", field=f"{where}.sameSite")
    return Cookie(
        name,
        Secret(value),
        _domain(str(cell.get("domain") or target.host), where),
        path if path.startswith("/") else "/",
        ends,
        bool(cell.get("secure")),
        bool(cell.get("httpOnly")),
        same_site,
    )


def _domain(text: str, where: str) -> str:
    dot = "." if text.startswith(".") else ""
    bare = text.removeprefix(".")
    host = f"[{bare}]" if ":" in bare and not bare.startswith("[") else bare
    parsed = parse_target(f"http://{host}/", field=f"{where}.domain")
    if parsed.authority != parsed.host and ":" not in parsed.host:
        raise BadInput("a cookie domain has no port", field=f"{where}.domain", hint="write the host alone")
    if dot and not parsed.is_literal_ip and is_public_suffix(parsed.host):
        raise BadInput(
            f"a cookie for the public suffix {parsed.host} is refused: it would be sent to other people's sites",
            field=f"{where}.domain",
            hint="write the domain of the site",
        )
    return ("" if parsed.is_literal_ip else dot) + parsed.host


def _origin(text: str) -> str:
    return parse_target(text, field="storage").origin


def _header(name: str, value: str) -> str:
    plain = name.strip().lower()
    is_token = plain.isascii() and plain.replace("-", "").replace("_", "").isalnum()
    if not is_token or plain in ("cookie", "host", "content-length", "connection", "accept-encoding"):
        raise BadInput("this header cannot be part of a session", field="headers", hint="for example Authorization")
    if not value.isascii() or not value.isprintable():
        raise BadInput("the header value cannot be sent", field=f"headers.{plain}", hint="printable ASCII")
    return plain
