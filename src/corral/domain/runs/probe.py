"""The result of probing a target, before a strategy is chosen."""

from dataclasses import dataclass

from corral.domain.runs.outcome import Deferred, Failed


@dataclass(frozen=True, slots=True)
class Probe:
    status: int | None  # None if nothing answered
    is_shell: bool = False
    what: str = "a page that is there without scripts"  # description of a good answer
    failure: Failed | Deferred | None = None
    resolved: bool = True  # False if the name has no address
