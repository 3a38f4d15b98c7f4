"""Scripts to execute, and what is left of them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.scripts.limits import ScriptLimits
from corral.files.artifacts import ArtifactFolder
from corral.runtime.new_ids import new_id
from corral.scripts.executor import ScriptExecutor
from corral.scripts.launcher import ScriptHost

LIMITS = ScriptLimits(memory_mib=256, processes=64, output_mib=4, records=1000)


@asynccontextmanager
async def script_executor(folder: Path | None = None, hidden: tuple[str, ...] = ()) -> AsyncIterator[ScriptExecutor]:
    host = ScriptHost()
    try:
        yield ScriptExecutor(host, None if folder is None else ArtifactFolder(folder), hidden)
    finally:
        await host.close()


def script_task(*argv: str, cwd: Path | str = "/tmp", timeout_s: float = 20, **options: Any) -> Task:
    payload = ScriptPayload(argv=argv, cwd=str(cwd), name="sample", **({"limits": LIMITS} | options))
    return Task(new_id(), 1, "script", "http", 1, Payload.of(payload), timeout_s)


def python_task(code: str, **options: Any) -> Task:
    return script_task(sys.executable, "-c", code, **options)


async def execute(
    executor: ScriptExecutor, task: Task, notify: Callable[[dict[str, Any]], None] = lambda _: None
) -> Outcome:
    return await asyncio.wait_for(executor.execute(task, notify), 60)


def code_of(outcome: Outcome) -> str | None:
    """`limit:memory`, or None for a success; a partial result has the code of its flaw."""
    failed = outcome if isinstance(outcome, Failed) else outcome.flaw if isinstance(outcome, Fetched) else None
    return None if failed is None else f"{failed.code.value}:{failed.detail}"


def processes_of(run_id: str) -> list[str]:
    """The living processes that have this run in their environment."""
    marker, found = f"CORRAL_RUN_ID={run_id}".encode(), []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return found
