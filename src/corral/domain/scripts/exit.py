"""How the execution of a script ended, and the failure that follows from it."""

import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from corral.domain.scripts.limits import ScriptLimits
from corral.domain.scripts.protocol import CLAIMED_CODES, ScriptMessages


class StopReason(StrEnum):
    """Why Corral ended a script."""

    TIMEOUT = "timeout"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    RECORDS = "records"
    CANCELLED = "cancelled"


class ScriptFault(NamedTuple):
    """A failure: `code` is a FailureCode, `detail` the precise reason, `message` is for people."""

    code: str
    detail: str
    message: str


@dataclass(frozen=True, slots=True)
class ScriptEnd:
    """The report of the keeper of a script."""

    exit_code: int | None = None
    signal: int | None = None
    stopped_for: StopReason | None = None
    start_error: str | None = None  # `missing`, `not_runnable`, `cwd` or `limits`
    start_message: str = ""
    left_processes: int = 0  # processes that outlived the script and were ended by Corral
    most_processes: int = 0
    peak_memory_mib: float = 0.0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    isolation: str = ""
    records_error: str | None = None  # of the file with the records
    is_cwd_gone: bool = False

    @property
    def is_success(self) -> bool:
        return self.exit_code == 0 and self.stopped_for is None and self.start_error is None

    def stats(self) -> dict[str, Any]:
        return {
            "exit_code": self.exit_code,
            "signal": _signal_name(self.signal),
            "wall_s": round(self.wall_s, 3),
            "cpu_s": round(self.cpu_s, 3),
            "peak_memory_mib": round(self.peak_memory_mib, 1),
            "processes": self.most_processes,
            "isolation": self.isolation,
        }


_START_ERRORS = {"missing": "script_missing", "not_runnable": "script_not_runnable", "cwd": "cwd", "limits": "limits"}
# Error messages of programs that reach a kernel limit of memory, file size or processes.
_REFUSED = (
    (("MemoryError", "Cannot allocate memory", "heap out of memory", "std::bad_alloc"), "memory"),
    (("File too large", "EFBIG"), "file"),
    (("Resource temporarily unavailable", "can't start new thread", "Cannot fork"), "processes"),
)


def classify_end(
    end: ScriptEnd,
    messages: ScriptMessages,
    limits: ScriptLimits,
    timeout_s: float,
    *,
    stderr_tail: str = "",
    wire: ScriptFault | None = None,
) -> ScriptFault | None:
    """Return the failure of a script, or None. A script cannot turn a failure into a success by its messages.

    `wire` is what the traffic of the script shows: it explains an exit code better than the code itself.
    """
    if end.start_error is not None:
        detail = _START_ERRORS.get(end.start_error, "script_not_runnable")
        return ScriptFault("policy", detail, end.start_message or "the script cannot be started")
    if end.stopped_for is not None:
        return _fault_of_stop(end, end.stopped_for, limits, timeout_s)
    if end.is_success:
        return _fault_of_success(end, messages)
    fault = _fault_of_exit(end, stderr_tail)
    if wire is not None and fault.code != "limit":
        fault = ScriptFault(wire.code, wire.detail, f"{wire.message}; {fault.message}")
    return _fault_of_message(messages) or fault


def _fault_of_stop(end: ScriptEnd, reason: StopReason, limits: ScriptLimits, timeout_s: float) -> ScriptFault:
    reasons = {
        StopReason.MEMORY: f"it used {end.peak_memory_mib:.0f} MiB of memory, {limits.memory_mib} are allowed",
        StopReason.PROCESSES: f"it started {end.most_processes} processes, {limits.processes} at once are allowed",
        StopReason.OUTPUT: f"it wrote more than {limits.output_mib} MiB of output",
        StopReason.RECORDS: f"it sent more than {limits.records} records",
    }
    if reason is StopReason.TIMEOUT:
        return ScriptFault("timeout", "script", f"not done after {timeout_s:g} s; the script was ended")
    if reason is StopReason.CANCELLED:
        return ScriptFault("cancelled", "script", "the script was ended because its run was cancelled")
    return ScriptFault("limit", reason.value, f"the script was ended: {reasons[reason]}")


def _fault_of_success(end: ScriptEnd, messages: ScriptMessages) -> ScriptFault | None:
    if (claim := _fault_of_message(messages)) is not None:
        return claim
    if (problem := messages.problem) is not None:
        return ScriptFault("bad_response", "protocol", problem)
    if end.records_error is not None:
        return ScriptFault("bad_response", "records_file", end.records_error)
    if end.is_cwd_gone:
        return ScriptFault("bad_response", "cwd_deleted", "the script deleted the folder in which it ran")
    return None


def _fault_of_message(messages: ScriptMessages) -> ScriptFault | None:
    """Return the script's own reason, sent over the result protocol."""
    if messages.error is None:
        return None
    code = messages.error["code"]
    message = messages.error["message"] or "the script reported an error"
    return ScriptFault(code if code in CLAIMED_CODES else "bad_response", "script", message)


def _fault_of_exit(end: ScriptEnd, stderr_tail: str) -> ScriptFault:
    if end.signal == signal.SIGXCPU:
        return ScriptFault("limit", "cpu", "the script used up its processor time")
    if end.signal == signal.SIGXFSZ:
        return ScriptFault("limit", "file", "the script wrote a file that is too large")
    last = stderr_tail.strip().rpartition("\n")[2][-300:]
    refused = next((detail for words, detail in _REFUSED if any(word in last for word in words)), None)
    if refused is not None:
        return ScriptFault("limit", refused, f"the script failed: {last}")
    if end.signal is not None:
        return ScriptFault("bad_response", "signal", f"the script was ended by {_signal_name(end.signal)}")
    message = f"the script exited with {end.exit_code}"
    return ScriptFault("bad_response", "exit", f"{message}: {last}" if last else message)


def _signal_name(number: int | None) -> str | None:
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def find_flaw(end: ScriptEnd, lines_broken: int, lines_too_long: int) -> ScriptFault | None:
    """Return what is missing from a script that succeeded; its run is then partial."""
    if lines_too_long:
        return ScriptFault("limit", "line", f"{lines_too_long} records exceed the maximum line length")
    if lines_broken:
        return ScriptFault("bad_response", "records", f"{lines_broken} lines of its records are not JSON objects")
    if end.left_processes:
        what = f"the script ended before {end.left_processes} processes that it had started; they were ended"
        return ScriptFault("bad_response", "left_processes", what)
    return None
