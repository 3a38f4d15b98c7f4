"""One parsing process and its current reader, as the worker sees them."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corral.extract.page_reader import ReadAnswer
from corral.fetch.parsing import messages as wire
from corral.runtime.buffered_link import BufferedLink
from corral.runtime.process import environment_without_settings, make_link, process_state
from corral.runtime.watchdog import Watchdog

_START_S = 20.0
_FORK_S = 5.0
_EXIT_S = 2.0
# Upper limit of the bodies of a batch of pages; a larger page is sent alone.
BATCH_BYTES = 512 * 1024


class CannotRead(Exception):
    """Raised if no parsing process can be started now."""


class ReadingBroke(Exception):
    """A reader raised an unexpected exception; the text is its traceback."""


@dataclass(frozen=True, slots=True)
class ReaderExit:
    """A reader that ended instead of answering."""

    code: int | None  # as in subprocess: negative for a signal
    selector_at: int | None = None  # index of the field whose selector took too long
    unsent: int = 0  # pages read but not yet answered
    in_code: bool = False  # the reader was running custom code
    was_stalled: bool = False  # killed because it made no progress and used no processor time

    @property
    def took_too_long(self) -> bool:
        return self.code == -signal.SIGPROF

    def __str__(self) -> str:
        if self.code is None:
            return "lost with its parent"
        if self.code < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-self.code).name}"
        return f"exited with {self.code}"


class ParseProcess:
    """Forks readers, one at a time. Every method is called by one task only."""

    def __init__(self, process: asyncio.subprocess.Process, control: socket.socket, note_fd: int) -> None:
        self._process = process
        self._control = control
        self._note_fd = note_fd

    @classmethod
    async def start(cls, limits: wire.ReaderLimits) -> "ParseProcess":
        ours, theirs = socket.socketpair()
        note_fd = os.memfd_create("corral-note")
        arguments = [str(theirs.fileno()), str(note_fd), str(os.getpid()), str(limits)]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "corral.entrypoints.parser_process",
                *arguments,
                pass_fds=(theirs.fileno(), note_fd),
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                env=environment_without_settings(),
            )
        except OSError as error:
            ours.close()
            os.close(note_fd)
            raise CannotRead(f"a parsing process cannot be started: {error}") from None
        finally:
            theirs.close()
        ours.setblocking(False)
        return cls(process, ours, note_fd)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def fork(self, *, is_first: bool) -> "Reader":
        """Fork a reader. The first fork waits until all modules are loaded."""
        ours, theirs = make_link()
        # Reset here, not in the reader: a reader that dies at once would leave the notes of its predecessor.
        os.pwrite(self._note_fd, wire.note.pack(0), wire.READ_AT)
        os.pwrite(self._note_fd, wire.note.pack(0), wire.CODE_AT)
        try:
            socket.send_fds(self._control, [b"F"], [theirs.fileno()])
            pid = await self._wait_for_control(wire.STARTED, _START_S if is_first else _FORK_S)
            if pid is None:
                raise CannotRead("a parsing process ended while starting")
            pidfd = os.pidfd_open(pid)
            _, link = await asyncio.get_running_loop().create_unix_connection(BufferedLink, sock=ours)
            return Reader(self, pid, pidfd, link)
        except OSError as error:
            ours.close()
            raise CannotRead(f"no parsing process can be started: {error}") from None
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()

    async def exit_code(self) -> int | None:
        """Return the exit code of the reader that ended last; None if this process is gone too."""
        return await self._wait_for_control(wire.ENDED, _EXIT_S)

    def selector_at(self) -> int:
        """Return the index of the field whose selector the reader that ended last was evaluating."""
        return self._read_note(0)

    def pages_read(self) -> int:
        """Return how many pages the reader that ended last had read."""
        return self._read_note(wire.READ_AT)

    def runs_code(self) -> bool:
        """Return whether the reader that ended last was running custom code."""
        return self._read_note(wire.CODE_AT) != 0

    def _read_note(self, offset: int) -> int:
        return int(wire.note.unpack(os.pread(self._note_fd, wire.note.size, offset))[0])

    async def end(self) -> None:
        self._control.close()
        os.close(self._note_fd)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    async def _wait_for_control(self, kind: bytes, within_s: float) -> int | None:
        try:
            async with asyncio.timeout(within_s):
                data = await _receive(self._control, wire.control_frame.size)
        except (TimeoutError, OSError):
            return None
        event, value = wire.control_frame.unpack(data) if data else (b"", 0)
        return int(value) if event == kind else None


OnAnswer = Callable[[ReadAnswer | ReadingBroke], None]


class Reader:
    """A process that reads page after page until it is stopped or a page exceeds its limits."""

    def __init__(self, parent: ParseProcess, pid: int, pidfd: int, link: BufferedLink) -> None:
        self._parent = parent
        self._pidfd = pidfd
        self._link = link
        self.pid = pid
        self.pages = 0
        self.has_ended = False

    async def read_pages(
        self, questions: Sequence[wire.Question], wall_s: float, on_answer: OnAnswer
    ) -> ReaderExit | None:
        """Read pages one after the other, and pass each answer to `on_answer` as soon as it arrives.

        Return how the reader ended if a page exceeded its limits; that page is the first one it had not read. Return
        None otherwise, even if the reader stopped early in order to be replaced.
        """
        answered = self.pages
        self.pages += len(questions)
        watchdog = Watchdog(wall_s, self.kill, lambda: process_state(self.pid) in ("T", "t"))
        try:
            self._send(questions)
            for _ in questions:
                kind, packed = await self._next_answer()
                watchdog.restart()
                answered += 1
                is_bug = kind == wire.BUG
                on_answer(ReadingBroke(packed.decode("utf-8", "replace")) if is_bug else wire.decode_answer(packed))
                if kind == wire.LAST_READ:
                    await self.end()
                    return None
        except ConnectionError:
            self.kill()
            code = await self.end()
            field_index = self._parent.selector_at() if code == -signal.SIGVTALRM else None
            unsent = max(0, self._parent.pages_read() - answered)
            return ReaderExit(code, field_index, unsent, self._parent.runs_code(), watchdog.has_killed)
        except BaseException:
            self.kill()  # a late answer would be mistaken for the answer to another page
            raise
        finally:
            watchdog.end()
        return None

    async def _next_answer(self) -> tuple[bytes, bytes]:
        """Return the next answer; raise ConnectionError if the reader ends before it."""
        while (answer := wire.pop_answer(self._link.received)) is None:
            if self._link.is_lost:
                raise ConnectionResetError
            await self._link.wait()
        return answer

    def _send(self, questions: Sequence[wire.Question]) -> None:
        parts = []
        for question in questions:
            parts += [wire.encode_head(question), question.request.body]
        self._link.send(parts)

    async def end(self) -> int | None:
        """Close the connection, wait a moment, then kill the reader. Return its exit code, if known."""
        self.has_ended = True
        self._link.close()
        code = await self._parent.exit_code()
        if code is None:
            self.kill()
            code = await self._parent.exit_code()
        os.close(self._pidfd)
        return code

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


async def _receive(link: socket.socket, size: int) -> bytes | None:
    """Read exactly `size` bytes; None if the other side closes the connection first."""
    if size == 0:
        return b""
    loop = asyncio.get_running_loop()
    data = bytearray(size)
    with memoryview(data) as view:
        done = 0
        while done < size:
            count = await loop.sock_recv_into(link, view[done:])
            if count == 0:
                return None
            done += count
    return bytes(data)
