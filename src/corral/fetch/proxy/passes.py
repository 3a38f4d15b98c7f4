"""The right of one run to use the forward proxy: its credentials, its budget, its usage and its gate."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from corral.domain.net.proxy import OpenProxy
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed, FailureCode
from corral.fetch.limits import MIB


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    connect_s: float = 5.0
    idle_s: float = 30.0  # without a byte in either direction
    max_head_bytes: int = 64 * 1024
    max_headers: int = 200
    max_run_bytes: int = 64 * MIB  # both directions together
    max_run_requests: int = 3000
    max_connections: int = 1024


class Gate(Protocol):
    """Decides when a request of a pass may be sent, and receives its result."""

    async def enter(self, target: Target, *, is_tunnel: bool) -> Failed | None:
        """Wait until the request may be sent; a failure refuses it."""
        ...

    def note_answer(self, target: Target, head: bytes) -> None:
        """Called with the head of the answer; not for a tunnel."""
        ...

    def leave(self, target: Target, failure: Failed | None, *, sent: int, received: int) -> None:
        """Called when the request has ended, with its byte counts; `failure` is a failure of the connection."""
        ...


@dataclass(slots=True, eq=False)
class ProxyPass:
    """The right of one run to use the proxy, with its usage."""

    trusted_hosts: frozenset[str]
    gate: Gate | None = field(default=None, repr=False)  # None: requests are sent at once
    upstream: OpenProxy | None = field(default=None, repr=False)  # proxy of the job
    idle_s: float = 30.0
    username: str = field(default_factory=lambda: secrets.token_hex(8))
    password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    bytes_in: int = 0
    bytes_out: int = 0
    requests: int = 0
    exceeded: str | None = None  # the exhausted budget
    on_exceeded: Callable[[str], None] | None = field(default=None, repr=False)  # called once
    faults: dict[tuple[str, int], Failed] = field(
        default_factory=dict, repr=False
    )  # the first failure by host and port
    unreadable: Failed | None = field(default=None, repr=False)  # last refusal of a URL that could not be parsed
    tasks: set[asyncio.Task[None]] = field(default_factory=set, repr=False)

    def exceed(self, budget: str) -> None:
        if self.exceeded is None:
            self.exceeded = budget
            if self.on_exceeded is not None:
                self.on_exceeded(budget)

    def note(self, target: Target, failure: Failed) -> None:
        self.faults.setdefault((target.host, target.port), failure)  # bounded by the number of requests

    @property
    def refused(self) -> list[str]:
        """The hosts that the policy refused to this run."""
        return [f"{host}:{port}" for (host, port), why in self.faults.items() if why.code is FailureCode.POLICY]
