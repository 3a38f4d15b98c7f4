"""What a script requested, as the forward proxy saw it, and what that says about a failure of the script."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

# Inside a TLS tunnel the proxy sees no status.
_MAX_HOSTS = 200
# At least this part of all requests has to fail in one way before that way names the failure of the script.
_MAIN_PART = 0.5
_OTHERS = "(other hosts)"
_TOO_MANY = 429
_BLOCKED = frozenset({401, 403, 407, 451})
_OK = "ok"


@dataclass(slots=True)
class HostTally:
    requests: int = 0
    tunnels: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    bytes_in: int = 0
    bytes_out: int = 0

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {"requests": self.requests, "bytes_in": self.bytes_in, "bytes_out": self.bytes_out}
        if self.tunnels:
            found["tunnels"] = self.tunnels
        if self.statuses:
            found["statuses"] = {str(status): count for status, count in self.statuses.items()}
        if self.faults:
            found["faults"] = dict(self.faults)
        return found


class WireTally:
    """The requests of one script by host. The number of hosts is bounded; the rest is counted together."""

    def __init__(self) -> None:
        self.hosts: dict[str, HostTally] = {}
        self._ways: Counter[str] = Counter()  # by failure code and detail, or ok
        self._last = _OK

    def of(self, host_key: str) -> HostTally:
        if host_key not in self.hosts and len(self.hosts) >= _MAX_HOSTS:
            host_key = _OTHERS
        return self.hosts.setdefault(host_key, HostTally())

    def note_status(self, host_key: str, status: int) -> None:
        self.of(host_key).statuses[status] += 1
        code = _code_of(status)
        self._note(_OK if code is None else f"{code}:http_{status}")

    def note_fault(self, host_key: str, code: str, detail: str | None) -> None:
        way = f"{code}:{detail}" if detail else code
        self.of(host_key).faults[way] += 1
        self._note(way)

    def note_tunnel(self, host_key: str) -> None:
        self.of(host_key).tunnels += 1
        self._note(_OK)

    def _note(self, way: str) -> None:
        self._ways[way] += 1
        self._last = way

    @property
    def requests(self) -> int:
        return sum(host.requests for host in self.hosts.values())

    def explain_failure(self) -> tuple[str, str] | None:
        """The code and detail of the failure that the requests show: what the last one met, or most of them."""
        if self._last != _OK:
            return _read_way(self._last)
        failed = [(count, way) for way, count in self._ways.items() if way != _OK]
        if not failed:
            return None
        count, way = max(failed)
        return _read_way(way) if count >= _MAIN_PART * self._ways.total() else None

    def document(self) -> dict[str, Any]:
        return {host: tally.document() for host, tally in self.hosts.items()}


def _read_way(way: str) -> tuple[str, str]:
    code, _, detail = way.partition(":")
    return code, detail


def _code_of(status: int) -> str | None:
    """The failure code of a status, as `domain.runs.outcome.FailureCode` names it."""
    if status == _TOO_MANY:
        return "rate_limited"
    if status in _BLOCKED:
        return "blocked"
    return "bad_response" if status >= 500 else None
