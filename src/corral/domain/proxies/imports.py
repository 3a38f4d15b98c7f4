"""The rows that an import of proxies writes, and its report."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from corral.domain.net.pool_policy import Tier
from corral.domain.net.proxy import OpenProxy
from corral.domain.proxies.listing import MalformedEntry


@dataclass(frozen=True, slots=True)
class NewProxy:
    identity: str
    address: str
    sealed: str | None
    tier: Tier
    source: str


@dataclass(frozen=True, slots=True)
class ProxyImport:
    imported: int = 0
    updated: int = 0  # other credentials, tier or source
    unchanged: int = 0
    malformed_count: int = 0
    malformed: tuple[MalformedEntry, ...] = field(default=())

    def document(self) -> dict[str, Any]:
        return {
            "imported": self.imported,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "malformed_count": self.malformed_count,
            "malformed": [each.document() for each in self.malformed],
        }


def identity_of(proxy: OpenProxy) -> str:
    """Return the identity of a proxy.

    Two users of one address are two proxies: many providers select the exit address by user name.
    """
    if proxy.user is None:
        return proxy.address
    digest = hashlib.blake2b(proxy.user.reveal().encode(), key=proxy.address.encode()[:64], digest_size=8)
    return f"{proxy.address} {digest.hexdigest()}"
