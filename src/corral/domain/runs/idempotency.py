"""A client's key, with which a repeated request creates nothing twice."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    key: str
    fingerprint: str  # hash of method, path and body: the same key with another request is refused
