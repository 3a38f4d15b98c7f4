"""The requests of a script, as the forward proxy saw them, and how they explain a failure of the script."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_MAX_HOSTS = 200
# The share of requests that must fail in the same way to explain the failure of the script.
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
        document: dict[str, Any] = {"requests": self.requests, "bytes_in": self.bytes_in, "bytes_out": self.bytes_out}
        if self.tunnels:
            document["tunnels"] = self.tunnels
        if self.statuses:
            document["statuses"] = {str(status): count for status, count in self.statuses.items()}
        if self.faults:
            document["faults"] = dict(self.faults)
        return document


class WireTally:
    """The requests of one script by host. The number of hosts is bounded; further hosts are counted together.

    Inside a TLS tunnel, the proxy sees no status.
    """

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
        """Return the code and detail of the failure that the last request met, or else most of them; or None."""
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
    """Return the failure code of a status, as `domain.runs.outcome.FailureCode` names it."""
    if status == _TOO_MANY:
        return "rate_limited"
    if status in _BLOCKED:
        return "blocked"
    return "bad_response" if status >= 500 else None
