"""The proxy of a job."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import unquote

from corral.domain.errors import BadInput
from corral.domain.net.pool_policy import PoolPolicy, is_pool_text, parse_pool_policy
from corral.domain.net.url import Target, parse_target
from corral.domain.secret import REDACTED, Secret

DIRECT = "direct"
NONE = "none"  # an alias


class RouteKind(StrEnum):
    """How a request reached its host. It decides whether a failure may count against the host."""

    DIRECT = "direct"
    PROXY = "proxy"  # the proxy may have forged the answer
    PROXY_TLS = "proxy_tls"  # the answer is the host's own: the proxied connection verified its certificate

    @staticmethod
    def through_proxy(scheme: str, *, verifies_tls: bool) -> "RouteKind":
        return RouteKind.PROXY_TLS if scheme == "https" and verifies_tls else RouteKind.PROXY


SCHEMES = ("http", "https", "socks5")
_FORM = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://(?:([^@/?#]*)@)?([^@/?#]+:[0-9]{1,5})/?")
_HINT = (
    "write direct, pool, tiered, or http://host:port, https://host:port or socks5://host:port, with user:password@"
    " where needed"
)
_MAX_PART_BYTES = 255  # the limit of SOCKS5


@dataclass(frozen=True, slots=True)
class ProxyPolicy:
    """The proxy as stored with a job: its address in clear, its credentials sealed."""

    address: str  # `direct`, scheme://host:port, or the text of a PoolPolicy
    sealed: str | None = None  # user and password, sealed by the vault for this address

    @property
    def is_direct(self) -> bool:
        return self.address == DIRECT

    @property
    def pool(self) -> PoolPolicy | None:
        """Return the rule for choosing a proxy of the pool; None for a fixed proxy or a direct connection."""
        return parse_pool_policy(self.address) if is_pool_text(self.address) else None

    @property
    def redacted(self) -> str:
        return self.address if self.sealed is None else self.address.replace("://", f"://{REDACTED}@", 1)

    @property
    def kid(self) -> str | None:
        """Return the id of the vault key that opens the credentials."""
        return None if self.sealed is None else self.sealed.partition(".")[0]

    @property
    def bound(self) -> str:
        """Return the context of the seal: credentials that are copied to another proxy address do not open."""
        return f"proxy|{self.address}"

    def document(self) -> dict[str, Any]:
        return {"address": self.address, "sealed": self.sealed}

    @staticmethod
    def of(cell: Mapping[str, Any]) -> "ProxyPolicy":
        return ProxyPolicy(str(cell["address"]), cell.get("sealed"))


# Returns the policy of a URL whose job has none; None is a direct connection.
UsualPolicy = Callable[[str], ProxyPolicy | None]


def connect_directly(_: str) -> ProxyPolicy | None:
    """Return None, the default policy of an installation without proxies."""
    return None


@dataclass(frozen=True, slots=True)
class OpenProxy:
    """The proxy as a worker uses it. It is never stored."""

    scheme: str
    target: Target  # checked like every other address
    user: Secret[str] | None = None
    password: Secret[str] | None = None

    @property
    def address(self) -> str:
        host = f"[{self.target.host}]" if ":" in self.target.host else self.target.host
        return f"{self.scheme}://{host}:{self.target.port}"

    @property
    def redacted(self) -> str:
        return ProxyPolicy(self.address, None if self.user is None else "").redacted

    def secrets(self) -> list[str]:
        return [part.reveal() for part in (self.user, self.password) if part is not None]


def parse_proxy(text: str, field: str = "proxy_policy") -> OpenProxy | None:
    """Parse a proxy URL; None for `direct`. BadInput never quotes the text: it may hold a password."""
    if text in (DIRECT, NONE):
        return None
    match = _FORM.fullmatch(text)
    if match is None:
        raise BadInput(
            "not a proxy address: expected `direct`, `pool`, `tiered` or a proxy URL",
            field=field,
            hint=_HINT,
        )
    scheme = match[1].lower()
    if scheme not in SCHEMES:
        raise BadInput("unknown proxy scheme", field=field, hint=_HINT)
    try:
        target = parse_target(f"http://{match[3]}/", field=field)
    except BadInput:
        raise BadInput("the proxy URL has no valid host and port", field=field, hint=_HINT) from None
    return OpenProxy(scheme, target, *_credentials(match[2], field))


def credentials_text(proxy: OpenProxy) -> str | None:
    """Return the credentials to seal; None if there are none."""
    if proxy.user is None or proxy.password is None:
        return None
    return f"{proxy.user.reveal()}:{proxy.password.reveal()}"


def with_credentials(policy: ProxyPolicy, text: str | None) -> OpenProxy:
    proxy = parse_proxy(policy.address)
    assert proxy is not None, "a direct policy has no proxy"
    if text is None:
        return proxy
    user, _, password = text.partition(":")
    return OpenProxy(proxy.scheme, proxy.target, Secret(user), Secret(password))


def _credentials(text: str | None, field: str) -> tuple[Secret[str] | None, Secret[str] | None]:
    if text is None:
        return None, None
    user, colon, password = text.partition(":")
    parts = [unquote(user), unquote(password)]
    is_sendable = all(len(part.encode()) <= _MAX_PART_BYTES and part.isprintable() for part in parts)
    if not user or not colon or not is_sendable or ":" in parts[0]:
        raise BadInput(
            "the proxy credentials cannot be sent",
            field=field,
            hint="write them as user:password@, with special characters percent-encoded",
        )
    return Secret(parts[0]), Secret(parts[1])
