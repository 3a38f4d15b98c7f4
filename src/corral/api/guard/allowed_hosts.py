"""By which names a server without a token may be called.

Whoever can reach it may do everything. It binds to loopback only, but the browsers of this machine reach it, too, and
with them any web page whose own name leads to 127.0.0.1 for a moment (DNS rebinding): to the browser we are that page.
"""

import ipaddress
from collections.abc import Collection


def is_ours(host: str, allowed: Collection[str]) -> bool:
    """`host` is the header as it came.

    An address cannot be made to lead elsewhere, and localhost does not. A name without a dot is one of this machine or
    its network: nobody can have a web site there.
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
