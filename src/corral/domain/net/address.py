"""Decide which addresses Corral may connect to.

The table is our own, because `ipaddress.is_global` changes between Python versions.
"""

import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from corral.domain.errors import BadInput
from corral.domain.net.url import Target

# The IANA special-purpose registry, including its globally reachable entries: they serve no web sites.
_FORBIDDEN_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's platform address, reachable from every guest
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is Oracle's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relay
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_ALLOWED_V6 = IPv6Network("2000::/3")
_FORBIDDEN_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries an IPv4 address inside
        "3fff::/20",  # documentation
    )
)
_ENTRY = re.compile(r"(?:\[(?P<v6>[^\]]+)\](?P<v6len>/\d+)?|(?P<v4>[^:\[\]]+)):(?P<port>\d{1,5}|\*)")


def is_forbidden(address: IPv4Address | IPv6Address) -> bool:
    """True unless the address is certainly a public host."""
    plain = _unmap(address)
    if isinstance(plain, IPv4Address):
        return any(plain in network for network in _FORBIDDEN_V4)
    return plain not in _ALLOWED_V6 or any(plain in network for network in _FORBIDDEN_V6)


def _unmap(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if isinstance(mapped, IPv4Address) else address


@dataclass(frozen=True, slots=True)
class AllowEntry:
    """An exception to the table: a network, and one port or `*` for all ports."""

    network: IPv4Network | IPv6Network
    port: int | None  # None is `*`

    @classmethod
    def parse(cls, text: str) -> "AllowEntry":
        match = _ENTRY.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not CIDR:port; write 127.0.0.0/8:8080, 10.1.2.3:*, or [::1]/128:8080")
        network_text = match["v4"] or match["v6"] + (match["v6len"] or "")
        try:
            network = ip_network(network_text)
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}; write the network address, such as 10.0.0.0/8:*") from None
        if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
            raise ValueError(f"{text!r} is a mapped IPv4 network; write it in its IPv4 form")
        if match["port"] == "*":
            return cls(network, None)
        port = int(match["port"])
        if not 1 <= port <= 65535:
            raise ValueError(f"{text!r}: port {port} is not between 1 and 65535; use * for every port")
        return cls(network, port)

    def covers(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        return (self.port is None or self.port == port) and address in self.network

    def __str__(self) -> str:
        if isinstance(self.network, IPv6Network):
            network = f"[{self.network.network_address}]/{self.network.prefixlen}"
        else:
            network = str(self.network)
        return f"{network}:{'*' if self.port is None else self.port}"


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """The table with its exceptions. No setting allows all private addresses at once."""

    allow: tuple[AllowEntry, ...] = field(default=())

    def permits(self, ip: str, port: int) -> bool:
        try:
            address = _unmap(ip_address(ip))
        except ValueError:
            return False
        return self.has_exception(ip, port) or not is_forbidden(address)

    def has_exception(self, ip: str, port: int) -> bool:
        """True if the allow list contains this address."""
        address = _unmap(ip_address(ip))
        return any(entry.covers(address, port) for entry in self.allow)


def is_trusted(target: Target, trusted_hosts: frozenset[str]) -> bool:
    """True for a host that a person typed at the terminal: `host`, or `host:port` for one port only."""
    return target.host in trusted_hosts or f"{target.host}:{target.port}" in trusted_hosts


def check_literal(
    target: Target,
    policy: EgressPolicy,
    *,
    field: str = "target_url",
    trusted_hosts: frozenset[str] = frozenset(),
) -> None:
    """Refuse a literal address that is forbidden, without DNS; names are checked when they are resolved."""
    if is_trusted(target, trusted_hosts):
        return
    if target.is_literal_ip:
        permitted = policy.permits(target.host, target.port)
    elif target.host == "localhost" or target.host.endswith(".localhost"):
        permitted = any(policy.permits(ip, target.port) for ip in ("127.0.0.1", "::1"))
    else:
        return
    if not permitted:
        raise BadInput(
            f"the host {target.host} is a private or reserved address, which is not fetched",
            field=field,
            hint=f"use a public address, or allow it with APP_EGRESS_ALLOW, for example 127.0.0.0/8:{target.port}",
            code="policy",
        )
