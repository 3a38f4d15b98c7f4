"""The script host as its worker sees it: started with the first script, replaced when it has died."""

import asyncio
import contextlib
import os
import socket
import sys
from dataclasses import dataclass

from corral.scripts.request import StartRequest, write_memory_file

_HOST_VARIABLES = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "TZ")


class HostUnavailable(Exception):
    """Raised if the script host cannot be started."""


@dataclass(slots=True)
class ScriptPipes:
    """Our ends of the pipes of one script. Closing `control` ends the script and everything it started, at once."""

    stdout: int
    stderr: int
    result: int
    control: int
    report: int
    records: int

    def command(self, command: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self.control, command)


class ScriptHost:
    def __init__(self, isolation: str | None = None) -> None:
        self._isolation = isolation  # None: the strongest that the kernel grants
        self._process: asyncio.subprocess.Process | None = None
        self._link: socket.socket | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self, request: StartRequest) -> ScriptPipes:
        """Start a script and return its pipes. The report pipe delivers its end."""
        async with self._starting:
            try:
                try:
                    return _send(await self._find_host(), request)
                except ConnectionError:
                    # The host has died, and asyncio has not noticed it yet.
                    return _send(await self._start_host(), request)
            except OSError as error:
                raise HostUnavailable(error.strerror or str(error)) from None

    async def close(self) -> None:
        """End the host, and with it every script."""
        if self._link is not None:
            self._link.close()
        if self._process is not None and self._process.returncode is None:
            try:
                async with asyncio.timeout(1.0):
                    await self._process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
        self._process, self._link = None, None

    async def _find_host(self) -> socket.socket:
        """Return the link to the running host; start one if there is none."""
        if self._link is None or self._process is None or self._process.returncode is not None:
            return await self._start_host()
        return self._link

    async def _start_host(self) -> socket.socket:
        if self._link is not None:
            self._link.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "corral.scripts.host", str(theirs.fileno()), str(os.getpid())),
                *(() if self._isolation is None else (self._isolation,)),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _HOST_VARIABLES if name in os.environ},
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(True)
        self._link = ours
        return ours


def _send(link: socket.socket, request: StartRequest) -> ScriptPipes:
    ours: list[int] = []
    theirs: list[int] = []
    try:
        theirs.append(write_memory_file(request.encode()))
        for name in ("stdout", "stderr", "result", "control", "report", "records"):
            read, write = os.pipe2(os.O_CLOEXEC)
            ours.append(write if name == "control" else read)
            theirs.append(read if name == "control" else write)
        socket.send_fds(link, [b"start"], theirs)
    except OSError:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    for descriptor in ours:
        os.set_blocking(descriptor, False)
    return ScriptPipes(*ours)
