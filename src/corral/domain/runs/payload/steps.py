"""Options of runs that exist as steps of workflows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from corral.domain.runs.payload.common import CommonPayload, common_options

_LONGEST_S = 6 * 3600.0


@dataclass(frozen=True)
class LocalStepPayload:
    workflow_id: str
    key: str
    handler: str  # name of the coroutine, for people; the coroutine itself exists only in the process
    inputs: dict[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            document["workflow_id"],
            document["key"],
            document.get("handler", ""),
            dict(document.get("inputs") or {}),
            document.get("timeout_s"),
        )

    def document(self) -> dict[str, Any]:
        timeout = {} if self.timeout_s is None else {"timeout_s": self.timeout_s}
        about = {"workflow_id": self.workflow_id, "key": self.key, "handler": self.handler}
        return {**about, "inputs": self.inputs, **timeout}


@dataclass(frozen=True)
class ExportPayload:
    run_ids: tuple[str, ...] = ()
    output: str = ""  # below the folder of exports
    format: str = "jsonl"
    timeout_s: float | None = None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            tuple(document.get("run_ids") or ()),
            document.get("output", ""),
            document.get("format", "jsonl"),
            document.get("timeout_s"),
        )

    def document(self) -> dict[str, Any]:
        return {
            "run_ids": list(self.run_ids),
            "output": self.output,
            "format": self.format,
            "timeout_s": self.timeout_s or _LONGEST_S,
        }


@dataclass(frozen=True)
class DrainPayload:
    registry: str = ""  # the scraper configuration for whose tasks the run waits
    timeout_s: float | None = None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(document.get("registry", ""), document.get("timeout_s"))

    def document(self) -> dict[str, Any]:
        return {"registry": self.registry, "timeout_s": self.timeout_s or _LONGEST_S}


@dataclass(frozen=True)
class WebhookPayload(CommonPayload):
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**common_options(document), body=document.get("body"), headers=dict(document.get("headers") or {}))

    def document(self) -> dict[str, Any]:
        return {**super().document(), "body": self.body, "headers": self.headers}
