"""Which client a request comes from, also behind proxies that an operator trusts."""

import ipaddress
from collections.abc import Sequence

from corral.settings import Network

_IPV6_SITE_BITS = 64


def find_client(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """The address that connected; behind trusted proxies, the last one they were connected from.

    Whatever stands further to the left in `X-Forwarded-For` was written by somebody we do not know. Of IPv6 it is the
    network of 64 bits: a client has all addresses of it.
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
