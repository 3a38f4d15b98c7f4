"""Entry point of a parsing process: `python -m corral.entrypoints.parser_process CONTROL_FD NOTE_FD PARENT_PID LIMITS`.

It reads no page itself. It loads the modules that reading needs, forks one reader at a time with the socket that it
received for it, and reports how each reader ended. A killed reader is thus replaced in milliseconds.

The kernel ends a reader that exceeds its processor time: SIGPROF for the page, SIGVTALRM for one selector. The reader
writes the index of the field to the note before it runs the selector. A Python signal handler would run too late: only
after the call into the parser has returned.
"""

import contextlib
import gc
import os
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from corral.domain.fields.own_code import parser_of
from corral.extract.fields import xml_source  # noqa: F401 - loads lxml once, before the readers are forked
from corral.extract.link_classifier import ReadMemory
from corral.extract.page_reader import ReadAnswer, read_page
from corral.fetch.parsing.messages import (
    BUG,
    CODE_AT,
    ENDED,
    LAST_READ,
    READ,
    READ_AT,
    STARTED,
    ReaderLimits,
    answer_frame,
    control_frame,
    decode_question,
    encode_answer,
    note,
    request_header,
)
from corral.fetch.parsing.read_clock import read_time
from corral.runtime.process import COLLECT_AFTER, die_with_parent, keep_freed_memory

_PIECE_BYTES = 256 * 1024
_MAX_BATCH = 8
_MAX_DELAY_S = 0.02
_MEMORY = encode_answer(ReadAnswer(refused="it takes too much memory"))


def main() -> None:
    control_fd, note_fd, parent_pid = (int(argument) for argument in sys.argv[1:4])
    limits = ReaderLimits.parse(sys.argv[4])
    die_with_parent(parent_pid)
    control = socket.socket(fileno=control_fd)
    gc.freeze()  # so that readers keep sharing this memory
    gc.set_threshold(COLLECT_AFTER)
    keep_freed_memory()
    while True:
        request, links, _, _ = socket.recv_fds(control, 1, 1)
        if not request or not links:
            return
        our_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become_reader(control, socket.socket(fileno=links[0]), note_fd, our_pid, limits)
        os.close(links[0])
        control.sendall(control_frame.pack(STARTED, pid))
        _, status = os.waitpid(pid, 0)
        control.sendall(control_frame.pack(ENDED, os.waitstatus_to_exitcode(status)))


def _become_reader(
    control: socket.socket, link: socket.socket, note_fd: int, parent_pid: int, limits: ReaderLimits
) -> None:
    """Serve as a reader, and exit instead of returning: the code of the caller belongs to the parent."""
    try:
        die_with_parent(parent_pid)
        control.close()
        for number in (signal.SIGPROF, signal.SIGVTALRM):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, (limits.address_bytes, limits.address_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _serve(link, note_fd, limits)
    except OSError:
        pass  # the other side is gone
    finally:
        os._exit(0)


def _serve(link: socket.socket, note_fd: int, limits: ReaderLimits) -> None:
    is_last, memory = False, ReadMemory()
    answers: list[bytes] = []  # sent in batches: waking the other process takes longer than reading many a page
    until, count = 0.0, 0
    requests = link.makefile("rb", buffering=_PIECE_BYTES)
    while not is_last:
        header = requests.read(request_header.size)
        if len(header) < request_header.size:
            return
        has_more, file = False, None
        head_bytes, body_bytes = request_header.unpack(header)
        try:
            head, body = requests.read(head_bytes), requests.read(body_bytes)
            if len(body) < body_bytes:
                return
            kind, packed, has_more, file = _read(head, body, note_fd, limits, memory)
        except _CodeMemoryError as error:
            file = error.file
            kind, packed = LAST_READ, _refuse_code(file, "takes too much memory")
        except MemoryError:
            kind, packed = LAST_READ, _MEMORY
        body = b""
        resident_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if resident_bytes > limits.resident_bytes:
            kind, packed = LAST_READ, _refuse_code(file, "takes too much memory") if file else _MEMORY
        elif 2 * resident_bytes > limits.resident_bytes and kind == READ:
            kind = LAST_READ  # otherwise the next page could fail for the memory of this one
        signal.setitimer(signal.ITIMER_PROF, 0)
        is_last = kind == LAST_READ
        answers.append(answer_frame(kind, packed))
        count += 1
        os.pwrite(note_fd, note.pack(count), READ_AT)
        if is_last or not has_more or len(answers) >= _MAX_BATCH or time.monotonic() > until:
            link.sendall(b"".join(answers))
            answers.clear()
            until = time.monotonic() + _MAX_DELAY_S


@contextlib.contextmanager
def _limit_memory(mib: int, limits: ReaderLimits) -> Iterator[None]:
    """Let one page use at most this much more memory than the reader has now; 0 keeps the limit of the reader."""
    if not mib:
        yield
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = min(limits.address_bytes, pages * resource.getpagesize() + mib * 1024 * 1024)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limits.address_bytes))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (limits.address_bytes, limits.address_bytes))


class _CodeMemoryError(MemoryError):
    """Own code exceeded the memory limit."""

    def __init__(self, file: str | None) -> None:
        super().__init__()
        self.file = file


def _refuse_code(file: str | None, why: str) -> bytes:
    return encode_answer(ReadAnswer(refused=f"{file}: parse {why}", refused_as="extraction:parser"))


def _read(
    head: bytes, body: bytes, note_fd: int, limits: ReaderLimits, memory: ReadMemory
) -> tuple[bytes, bytes, bool, str | None]:
    """Return the kind of the answer, the answer, whether another page follows, and the file of the page's own code."""
    has_more, file = False, None

    @contextlib.contextmanager
    def guard(field_index: int) -> Iterator[None]:
        os.pwrite(note_fd, note.pack(field_index), 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, limits.selector_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    @contextlib.contextmanager
    def mark() -> Iterator[None]:
        os.pwrite(note_fd, note.pack(1), CODE_AT)
        try:
            yield
        except MemoryError:
            raise _CodeMemoryError(file) from None
        finally:
            os.pwrite(note_fd, note.pack(0), CODE_AT)

    try:
        question = decode_question(head, body)
        has_more, spec = question.has_more, parser_of(question.request.fields)
        file = None if spec is None else spec.file
        signal.setitimer(signal.ITIMER_PROF, question.cpu_s)
        began = time.process_time()
        with _limit_memory(question.request.memory_mib, limits):
            answer = read_page(question.request, read_time(), guard, question.skipped, memory=memory, mark=mark)
        packed = encode_answer(replace(answer, cpu_ms=round((time.process_time() - began) * 1000)))
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - a bug of ours, which the other side raises
        return BUG, traceback.format_exc()[-8192:].encode("utf-8", "replace"), has_more, file
    if len(packed) > limits.answer_bytes:
        refused = encode_answer(ReadAnswer(refused=f"its record has more than {limits.answer_bytes} bytes"))
        packed = _refuse_code(file, f"returned more than {limits.answer_bytes} bytes") if file else refused
    return READ, packed, has_more, file


if __name__ == "__main__":
    main()
