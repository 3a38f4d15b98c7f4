"""Runs that write the records of other runs to a file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.steps import ExportPayload
from corral.domain.runs.run import EXPORT
from corral.engine.worker.kinds.spec import KindSpec
from corral.export.columns import Columns
from corral.export.file import replace_file
from corral.export.formats import Format
from corral.export.outbox import Outbox
from corral.export.stream import writer_for


class _NotExportable(Exception):
    """Raised if the records of a run cannot be exported. The message is the reason."""


class ExportKind:
    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        payload = task.payload.read(ExportPayload)
        if self._folder is None:
            return Failed(FailureCode.POLICY, "this process has no folder for exports", "exports")
        path = (self._folder / payload.output).resolve()
        if not path.is_relative_to(self._folder.resolve()):
            return Failed(FailureCode.POLICY, f"{payload.output} is not below the folder of exports", "exports")
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
            count, size = await _write(path, payload, frontier)
        except (_NotExportable, BadInput) as error:
            return Failed(FailureCode.POLICY, str(error), "exports")
        except OSError as error:
            return Failed(FailureCode.LIMIT, f"{path} cannot be written: {error.strerror}", "exports")
        return Fetched({"records": count, "bytes": size}, ({"path": str(path), "records": count, "bytes": size},))


async def _write(path: Path, payload: ExportPayload, frontier: FrontierClient) -> tuple[int, int]:
    """Write the whole file or nothing; return the number of records and bytes."""
    kind, columns, count = Format(payload.format), Columns(), 0
    if kind.needs_columns:
        async for batch in _read(payload.run_ids, frontier):
            await asyncio.to_thread(columns.scan, batch)
    out = Outbox()
    with replace_file(path) as file:
        writer = writer_for(kind, out, columns)
        async for batch in _read(payload.run_ids, frontier):
            count += await asyncio.to_thread(writer.add, batch)
            await asyncio.to_thread(file.write, out.take())
            frontier.notify({"records": count})
        await asyncio.to_thread(writer.end)
        await asyncio.to_thread(file.write, out.take())
    return count, out.tell()


async def _read(run_ids: tuple[str, ...], frontier: FrontierClient) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield batches of the records of all runs, in order."""
    for run_id in run_ids:
        after = ""
        while True:
            answer = await frontier.call("next_records", {"run_id": run_id, "after": after})
            if answer["problem"] is not None:
                raise _NotExportable(answer["problem"])
            if not answer["records"]:
                break
            after = answer["after"]
            yield answer["records"]


EXPORT_KIND = KindSpec(EXPORT, ExportPayload, lambda parts: ExportKind(parts.exports_folder))
