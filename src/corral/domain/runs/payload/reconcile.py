"""Options of a run that compares expected keys with inventories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

_LONGEST_S = 6 * 3600.0


@dataclass(frozen=True)
class ReconcilePayload:
    inventory: dict[str, Any] = field(default_factory=dict)  # the data inventory as it was at submission
    root: str = "."  # where its relative paths begin
    sources: tuple[str, ...] = ()  # empty: all of them
    registry: str | None = None  # the scraper configuration of the imported tasks; None imports nothing
    output: str | None = None  # the queue file; None writes none
    timeout_s: float = _LONGEST_S

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            inventory=dict(document.get("inventory") or {}),
            root=document.get("root", "."),
            sources=tuple(document.get("sources") or ()),
            registry=document.get("registry"),
            output=document.get("output"),
            timeout_s=document.get("timeout_s", _LONGEST_S),
        )

    def document(self) -> dict[str, Any]:
        return {
            "inventory": self.inventory,
            "root": self.root,
            "sources": list(self.sources),
            "registry": self.registry,
            "output": self.output,
            "timeout_s": self.timeout_s,
        }
