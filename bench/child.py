"""The subprocess side: make one competitor, run one of its methods, write what it returns as JSON."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

from bench.model import Place
from bench.services import Service


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _call(function: Any, *arguments: Any) -> Any:
    value = function(*arguments)
    if inspect.isawaitable(value):

        async def wait() -> Any:
            return await value

        return asyncio.run(wait())
    return value


def run(spec: dict[str, Any]) -> dict[str, Any]:
    """Run what the spec asks for. An entry without `extras` answers with no figures."""
    services = {name: Service(**service) for name, service in spec["services"].items()}
    competitor = _load(spec["target"])(Place(Path(spec["folder"]), services, spec["quick"]))
    if spec["method"] == "measure":
        return dataclasses.asdict(_call(competitor.measure, spec["count"]))
    extras = getattr(competitor, "extras", None)
    return {} if extras is None else dict(_call(extras))


def main() -> None:
    """Exit hard once the answer is on disk: a competitor's leftover threads do not hold up the next one."""
    spec = json.loads(Path(sys.argv[1]).read_text())
    answer = Path(spec["answer"])
    partial = answer.with_suffix(".part")
    partial.write_text(json.dumps(run(spec)))
    partial.rename(answer)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
