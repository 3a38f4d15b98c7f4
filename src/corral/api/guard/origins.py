"""Detect cross-origin writes: a web page of another origin may not make a visitor's browser send one."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SAME = frozenset({"same-origin", "none"})


def find_foreign_origin(headers: Headers, allowed_hosts: Collection[str]) -> str | None:
    """Return the origin of a cross-origin write; None for our own origin, or if no browser sent the request.

    Browsers send at least one of the two headers with every request that is not a plain GET, also for forms; programs
    send neither. `same-site` is foreign, too: another port of this machine is of the same site.
    """
    origin = headers.get("origin")
    if origin is not None:
        return None if _is_own(origin, headers.get("host", ""), allowed_hosts) else origin
    site = headers.get("sec-fetch-site")
    return None if site is None or site.strip().lower() in _SAME else f"({site})"


def _is_own(origin: str, host: str, allowed_hosts: Collection[str]) -> bool:
    try:
        parts = urlsplit(origin.strip().lower())
        default = _DEFAULT_PORTS.get(parts.scheme)
        own = urlsplit(f"{parts.scheme}://{host.strip().lower()}")
        # Behind a proxy that terminates TLS the scheme differs, so only name and port are compared.
        is_same = (parts.hostname, parts.port or default) == (own.hostname, own.port or default)
    except ValueError:
        return False
    if default is None or parts.hostname is None:
        return False
    return is_same or parts.hostname in allowed_hosts
