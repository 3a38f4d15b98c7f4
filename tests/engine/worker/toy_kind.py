"""A run kind as a maintainer would add it: one module, and one line where the kinds are listed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.engine.worker.kinds.spec import KindSpec


@dataclass(frozen=True)
class ToyPayload:
    word: str
    wait_for: str = ""  # a file
    fails: bool = False

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(str(document["word"]), document.get("wait_for", ""), bool(document.get("fails")))

    def document(self) -> dict[str, Any]:
        return {"word": self.word, "wait_for": self.wait_for, "fails": self.fails}


class ToyKind:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        payload = task.payload.read(ToyPayload)
        if payload.fails:
            return Failed(FailureCode.BAD_RESPONSE, f"{payload.word} failed", "toy", http_status=404)
        while payload.wait_for and not Path(payload.wait_for).exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.02)
        return Fetched(records=({"reversed": payload.word[::-1]},))


TOY_KIND = KindSpec("toy", ToyPayload, lambda _: ToyKind())
