"""Host names under which a server without a token accepts requests.

Without a token, every client that can connect has full access. The server binds to loopback only, but a web page open
in a local browser can resolve its own name to 127.0.0.1 (DNS rebinding) and call the API as its own origin.
"""

import ipaddress
from collections.abc import Collection


def is_ours(host: str, allowed: Collection[str]) -> bool:
    """Check the raw `Host` header.

    IP addresses and localhost cannot be rebound. A name without a dot belongs to this machine or its network, so no
    public web site can use it.
    """
    name = _name(host)
    return "." not in name or name.endswith(".localhost") or name in allowed or _is_address(name)


def _name(host: str) -> str:
    plain = host.strip().lower()
    if plain.startswith("["):
        return plain[1:].partition("]")[0]
    return plain.partition(":")[0].rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
