"""The client that a request comes from, including behind trusted proxies."""

import ipaddress
from collections.abc import Sequence

from corral.settings import Network

_IPV6_SITE_BITS = 64


def find_client(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """Return the peer address or, behind trusted proxies, the address that connected to the outermost of them.

    Entries of `X-Forwarded-For` further to the left are ignored: an untrusted client can write anything there. An IPv6
    address is reduced to its /64 network, because one client usually owns all addresses of it.
    """
    client = _parse(peer)
    if client is None:
        return peer
    hops = forwarded_for.split(",") if trusted and forwarded_for else []
    while hops and any(client in network for network in trusted):
        before = _parse(hops.pop().strip())
        if before is None:
            break
        client = before
    if isinstance(client, ipaddress.IPv4Address):
        return str(client)
    return str(ipaddress.IPv6Network((int(client), _IPV6_SITE_BITS), strict=False))


def _parse(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped or address
