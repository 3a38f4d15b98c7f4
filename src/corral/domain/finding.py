"""A broken invariant, as `corral doctor` reports it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    subject: str
    what: str
    remedy: str
