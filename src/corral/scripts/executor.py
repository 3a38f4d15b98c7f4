"""Execute one script: start it through the host, read its pipes, and turn its end into an outcome."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from corral.domain.ports.execution import Task
from corral.domain.runs.artifact import ArtifactKind
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.script import INPUT_FILE, PYTHON, ScriptPayload
from corral.domain.scripts.exit import ScriptEnd, StopReason, classify_end, find_flaw
from corral.domain.scripts.protocol import RecordLines, ScriptMessages, StdoutRecords, read_records_file
from corral.domain.scripts.records import RecordsFrom
from corral.domain.scripts.text import escape_controls
from corral.domain.secret import REDACTED
from corral.files.artifacts import ArtifactFolder, Spool
from corral.scripts.environment import build_environment, secrets_of
from corral.scripts.launcher import HostUnavailable, ScriptHost, ScriptPipes
from corral.scripts.network import NetworkFactory, ScriptNetwork, connect_directly
from corral.scripts.output import LineSplitter, PipeReader, Tail
from corral.scripts.request import (
    STOP_BY_SIGNAL,
    STOP_CANCELLED,
    STOP_GRACE_S,
    STOP_OUTPUT,
    STOP_RECORDS,
    StartRequest,
)

RECORDS_FILE = "{records_file}"
_INPUT_NAME = "input.json"
_NOTIFY_EVERY_S = 0.5
_TOUCH_EVERY_S = 600.0
_MIB = 2**20
_END_FIELDS = frozenset(field.name for field in fields(ScriptEnd))

Notify = Callable[[dict[str, Any]], None]


class ScriptExecutor:
    def __init__(
        self,
        host: ScriptHost,
        folder: ArtifactFolder | None = None,
        hidden: Sequence[str] = (),
        network: NetworkFactory = connect_directly,
    ) -> None:
        self._host = host
        self._folder = folder
        self._hidden = list(hidden)
        self._network = network

    async def execute(self, task: Task, notify: Notify) -> Outcome:
        payload = task.payload.read(ScriptPayload)
        scratch = tempfile.mkdtemp(prefix="corral-script-") if _needs_folder(payload) else None
        if scratch is not None and payload.input is not None:
            await asyncio.to_thread((Path(scratch) / _INPUT_NAME).write_text, json.dumps(payload.input))
        try:
            async with self._network(task) as network:
                execution = _Execution(task, payload, notify, self._folder, network)
                request = self._request(task, payload, network, scratch)
                try:
                    pipes = await self._host.start(request)
                except HostUnavailable as error:
                    return Failed(FailureCode.UNKNOWN, f"the script host cannot be started: {error}", "script_host")
                return await execution.follow(pipes, request.records_path)
        finally:
            if scratch is not None:
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    def _request(self, task: Task, payload: ScriptPayload, network: ScriptNetwork, scratch: str | None) -> StartRequest:
        path = str(Path(scratch) / "records.jsonl") if scratch and RECORDS_FILE in " ".join(payload.argv) else None
        limits = payload.limits
        return StartRequest(
            argv=[_fill_in(argument, path, scratch) for argument in payload.argv],
            cwd=payload.cwd,
            env=build_environment(payload, task.run_id, task.attempt, network.environment),
            timeout_s=task.timeout_s,
            memory_mib=limits.memory_mib,
            processes=limits.processes,
            file_mib=limits.file_mib,
            cpu_s=limits.cpu_s,
            hidden=self._hidden,
            records_path=path or (payload.records.path if payload.records.kind is RecordsFrom.FILE else None),
            records_max_bytes=limits.output_mib * _MIB,
        )


def _needs_folder(payload: ScriptPayload) -> bool:
    return payload.input is not None or RECORDS_FILE in " ".join(payload.argv)


def _fill_in(argument: str, records_path: str | None, scratch: str | None) -> str:
    if argument == PYTHON:
        return sys.executable
    if argument == INPUT_FILE and scratch is not None:
        return str(Path(scratch) / _INPUT_NAME)
    return argument if records_path is None else argument.replace(RECORDS_FILE, records_path)


class _Execution:
    """Reads the pipes of one script until its end."""

    def __init__(
        self, task: Task, payload: ScriptPayload, notify: Notify, folder: ArtifactFolder | None, network: ScriptNetwork
    ) -> None:
        self._task, self._payload, self._notify, self._network = task, payload, notify, network
        limits = payload.limits
        self._printed = RecordLines(limits.records)
        self._sent = RecordLines(limits.records)
        self._stdout_records = StdoutRecords(self._printed)
        self._messages = ScriptMessages(self._sent, self._on_progress)
        self._lines = LineSplitter(self._stdout_records.read_line)
        self._protocol = LineSplitter(self._messages.read_line)
        self._tails = {"stdout": Tail(), "stderr": Tail()}
        kinds = {"stdout": ArtifactKind.STDOUT, "stderr": ArtifactKind.STDERR}
        self._spools: dict[str, Spool] = (
            {} if folder is None else {name: folder.open_spool(kind) for name, kind in kinds.items()}
        )
        self._file = bytearray()
        self._report = bytearray()
        self._reported = asyncio.get_running_loop().create_future()
        self._pipes: ScriptPipes | None = None
        self._stop_reason: StopReason | None = None
        self._protocol_bytes = 0
        self._progress: dict[str, Any] = {}
        self._notified_at = 0.0

    async def follow(self, pipes: ScriptPipes, records_path: str | None) -> Outcome:
        """Read until the script and everything it started has ended."""
        self._pipes = pipes
        reads_stdout = records_path is None and self._payload.records.kind is RecordsFrom.STDOUT
        readers = [
            PipeReader(pipes.stdout, lambda chunk: self._take("stdout", chunk, parses=reads_stdout)),
            PipeReader(pipes.stderr, lambda chunk: self._take("stderr", chunk, parses=False)),
            PipeReader(pipes.result, self._take_protocol),
            PipeReader(pipes.records, self._file.extend),
            PipeReader(pipes.report, self._take_report),
        ]
        try:
            end = await self._wait(readers)
        finally:
            for reader in readers:
                reader.close()
            os.close(pipes.control)
        if reads_stdout:
            self._lines.finish()
            self._stdout_records.finish()
        self._protocol.finish()
        if records_path is not None and end is not None and end.records_error is None:
            read_records_file(bytes(self._file), records_path, self._printed)
        return self._outcome(end)

    async def _wait(self, readers: Sequence[PipeReader]) -> ScriptEnd | None:
        """Return the report after all streams have ended; None if the keeper ended without one."""
        report = readers[-1].ended
        touching = asyncio.get_running_loop().create_task(self._touch_spools())
        try:
            await asyncio.wait({report, self._reported}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError as cancelled:
            assert self._pipes is not None
            # The worker cancels with the name of the signal that a person chose.
            self._pipes.command(STOP_BY_SIGNAL.get(str(cancelled), STOP_CANCELLED))
            await asyncio.wait({report, self._reported}, timeout=STOP_GRACE_S + 1, return_when=asyncio.FIRST_COMPLETED)
            raise
        finally:
            touching.cancel()
        # The keeper reports after every process has ended, so that the pipes hold all output and reach their end.
        await asyncio.gather(*(reader.ended for reader in readers[:-1]))
        if not self._report:
            return None
        document = json.loads(self._report)
        document["stopped_for"] = StopReason(document["stopped_for"]) if document["stopped_for"] else None
        return ScriptEnd(**{name: value for name, value in document.items() if name in _END_FIELDS})

    async def _touch_spools(self) -> None:
        """Renew the time stamps of the spools: the cleanup removes old files that belong to no run."""
        while True:
            await asyncio.sleep(_TOUCH_EVERY_S)
            for spool in self._spools.values():
                spool.touch()

    # -- reading the pipes -------------------------------------------------------------------------

    def _take(self, name: str, chunk: bytes, *, parses: bool) -> None:
        total = sum(tail.bytes for tail in self._tails.values())
        room = self._payload.limits.output_mib * _MIB - total
        self._tails[name].feed(chunk)
        if len(chunk) > room:
            chunk = chunk[: max(0, room)]
            self._stop(StopReason.OUTPUT, STOP_OUTPUT)
        if not chunk:
            return
        if name in self._spools:
            self._spools[name].write(chunk)
        if parses:
            self._lines.feed(chunk)
            self._check_records(self._printed)
        if self._payload.echo:
            self._notify({"output": [name, chunk.decode("utf-8", "replace")]})

    def _take_protocol(self, chunk: bytes) -> None:
        self._protocol_bytes += len(chunk)
        if self._protocol_bytes > self._payload.limits.output_mib * _MIB:
            self._stop(StopReason.OUTPUT, STOP_OUTPUT)
            return
        self._protocol.feed(chunk)
        self._check_records(self._sent)

    def _take_report(self, chunk: bytes) -> None:
        self._report += chunk
        if self._report.endswith(b"\n") and not self._reported.done():
            self._reported.set_result(None)

    def _check_records(self, lines: RecordLines) -> None:
        if lines.is_full:
            self._stop(StopReason.RECORDS, STOP_RECORDS)
        elif lines.records:
            self._notify_progress()

    def _on_progress(self, counts: dict[str, Any]) -> None:
        self._progress = counts
        self._notify_progress()

    def _notify_progress(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._notified_at >= _NOTIFY_EVERY_S:
            self._notified_at = now
            records = len(self._sent.records) or len(self._printed.records)
            self._notify({"records": records, **({"progress": self._progress} if self._progress else {})})

    def _stop(self, reason: StopReason, command: bytes) -> None:
        if self._stop_reason is None and self._pipes is not None:
            self._stop_reason = reason
            self._pipes.command(command)

    # -- outcome -----------------------------------------------------------------------------------

    def _outcome(self, end: ScriptEnd | None) -> Outcome:
        artifacts = tuple(artifact for spool in self._spools.values() if (artifact := spool.finish()) is not None)
        if end is None:
            message = "the script host ended while the script ran"
            return Failed(FailureCode.UNKNOWN, message, "script_host", stats=self._stats(), artifacts=artifacts)
        lines = self._sent if self._messages.is_spoken else self._printed
        records = tuple(lines.records)
        stats = self._stats(end, len(records))
        fault = classify_end(
            end,
            self._messages,
            self._payload.limits,
            self._task.timeout_s,
            stderr_tail=stats["output"]["stderr"],
            wire=self._network.find_fault(),
        )
        if fault is not None:
            code = FailureCode(fault.code)
            return Failed(code, fault.message, fault.detail, stats=stats, artifacts=artifacts, records=records)
        flaw = find_flaw(end, lines.broken, lines.too_long)
        if flaw is None:
            return Fetched(stats, records, artifacts=artifacts)
        problems = {"broken_lines": lines.broken, "too_long_lines": lines.too_long, "examples": lines.problems}
        problems |= {"left_processes": end.left_processes}
        failure = Failed(FailureCode(flaw.code), flaw.message, flaw.detail, stats=stats)
        present = {name: value for name, value in problems.items() if value}
        return Fetched(stats, records, artifacts=artifacts, problems=present, flaw=failure)

    def _stats(self, end: ScriptEnd | None = None, records: int = 0) -> dict[str, Any]:
        secrets = secrets_of(self._payload)
        output: dict[str, Any] = {name: _redact(tail.text(), secrets) for name, tail in self._tails.items()}
        output |= {f"{name}_bytes": tail.bytes for name, tail in self._tails.items()}
        if problem := next((spool.problem for spool in self._spools.values() if spool.problem), None):
            output["not_kept"] = problem
        return {
            "name": self._payload.name,
            "records": records,
            **({} if end is None else end.stats()),
            **({"progress": self._progress} if self._progress else {}),
            **({"absent": self._messages.absent} if self._messages.absent else {}),
            **self._network.stats(),
            "output": output,
        }


def _redact(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return escape_controls(text)
