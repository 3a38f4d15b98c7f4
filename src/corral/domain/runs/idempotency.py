"""A client's key that makes a repeated create harmless."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    key: str
    fingerprint: str  # hash of method, path and body: the same key with another request is refused
