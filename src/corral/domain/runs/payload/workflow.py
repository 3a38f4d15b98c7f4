"""Options of a run that is a workflow."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class WorkflowPayload:
    """The definition and the steps are in tables of their own: see store/workflow_tables.py."""

    workflow_id: str
    name: str
    version: int

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(document["workflow_id"], document.get("name", ""), int(document.get("version", 1)))

    def document(self) -> dict[str, Any]:
        return {"workflow_id": self.workflow_id, "name": self.name, "version": self.version}
