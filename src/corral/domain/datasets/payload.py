"""Options of a run that builds a dataset, or executes one step of a build."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from corral.domain.datasets.steps import ALL_STEPS, DatasetStep

_LONGEST_S = 48 * 3600.0


@dataclass(frozen=True)
class DatasetPayload:
    config: dict[str, Any] = field(default_factory=dict)  # the configuration as it was at submission
    root: str = "."  # the base of its relative paths
    steps: tuple[str, ...] = ()  # empty: all of them
    trusted_hosts: tuple[str, ...] = ()  # may be reached although they are private
    may_execute: bool = False  # commands and functions of sources; only for builds started at the terminal
    timeout_s: float = _LONGEST_S

    @property
    def chosen_steps(self) -> tuple[DatasetStep, ...]:
        """Return the steps to execute; raise ValueError for a step that does not exist."""
        return tuple(DatasetStep(name) for name in self.steps) or ALL_STEPS

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            config=dict(document.get("config") or {}),
            root=document.get("root", "."),
            steps=tuple(document.get("steps") or ()),
            trusted_hosts=tuple(document.get("trusted_hosts") or ()),
            may_execute=bool(document.get("may_execute")),
            timeout_s=document.get("timeout_s", _LONGEST_S),
        )

    def document(self) -> dict[str, Any]:
        return {
            "config": self.config,
            "root": self.root,
            "steps": list(self.steps),
            "trusted_hosts": list(self.trusted_hosts),
            "may_execute": self.may_execute,
            "timeout_s": self.timeout_s,
        }
