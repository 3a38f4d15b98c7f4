"""The limits of the HTTP server, and how many connections the open-file limit leaves room for."""

import resource
from dataclasses import dataclass, replace
from pathlib import Path

from corral.settings import Settings

# Connections beyond the limit, so that `/health` still answers when all others are in use.
RESERVED_CONNECTIONS = 32
# Database, log, sockets to worker processes: files that this process opens while it serves.
_OTHER_FILES = 64
_MIN_CONNECTIONS = 4
_OPEN_FILES = Path("/proc/self/fd")


@dataclass(frozen=True, slots=True)
class HttpLimits:
    max_header_bytes: int = 64 * 1024
    max_headers: int = 100
    header_timeout_s: float = 10.0
    keep_alive_s: int = 15
    send_timeout_s: float = 60.0
    max_connections: int = 1000
    reserved_connections: int = RESERVED_CONNECTIONS
    # The setting or limit that bounds the number of connections; `/health` names it.
    bounded_by: str = "APP_API_MAX_CONNECTIONS"

    @property
    def max_url_bytes(self) -> int:
        return self.max_header_bytes // 2


def limits_of(settings: Settings) -> HttpLimits:
    return HttpLimits(
        max_header_bytes=settings.api_max_header_bytes,
        max_headers=settings.api_max_headers,
        header_timeout_s=settings.api_header_timeout_seconds,
        keep_alive_s=settings.api_keep_alive_seconds,
        send_timeout_s=settings.api_send_timeout_seconds,
        max_connections=settings.api_max_connections,
    )


def fit_open_files(limits: HttpLimits) -> HttpLimits:
    """Raise the soft limit on open files if it is too low; if that is not allowed, accept fewer connections."""
    wanted = limits.max_connections + limits.reserved_connections
    in_use = sum(1 for _ in _OPEN_FILES.iterdir()) if _OPEN_FILES.is_dir() else _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = in_use + _OTHER_FILES + wanted
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return limits
    available = max(0, soft - in_use - min(_OTHER_FILES, soft // 8))
    reserved = max(_MIN_CONNECTIONS // 2, min(limits.reserved_connections, available // 4))
    fewer = max(_MIN_CONNECTIONS, available - reserved)
    return replace(limits, max_connections=fewer, reserved_connections=reserved, bounded_by="the open-file limit")
