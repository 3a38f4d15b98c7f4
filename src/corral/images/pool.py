"""A pool of decoder processes: an image that crashes, hangs or takes too much memory costs one process."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from typing import BinaryIO, NamedTuple

import structlog

from corral.domain.datasets.image import ImageFacts
from corral.domain.datasets.options import ImageRecipe
from corral.images import messages as wire
from corral.images.messages import DecoderLimits
from corral.runtime.buffered_link import BufferedLink
from corral.runtime.process import environment_without_settings, make_link
from corral.runtime.watchdog import Watchdog

log = structlog.get_logger()

_STDERR_CHARS = 500
_TRIES = 2  # an image that ended this many decoders is broken


class ProcessedImage(NamedTuple):
    facts: ImageFacts
    output: bytes  # empty if the image is stored unchanged


class DecoderError(Exception):
    """No decoder process can be started."""


class ImagePool:
    """Starts decoder processes when they are needed and reuses them."""

    def __init__(self, limits: DecoderLimits | None = None) -> None:
        self._limits = limits or DecoderLimits()
        self._idle: deque[_Decoder] = deque()
        self._all: set[_Decoder] = set()
        self._free = asyncio.Semaphore(self._limits.processes)

    async def process(self, bodies: Sequence[bytes], recipe: ImageRecipe) -> list[ProcessedImage]:
        """Process a batch in one decoder, in order."""
        async with self._free:
            done: list[ProcessedImage] = []
            losses = 0
            while len(done) < len(bodies):
                before = len(done)
                ended = await self._attempt(bodies[before:], recipe, done)
                if ended is None:
                    break
                losses = losses + 1 if len(done) == before else 1
                log.warning("image_ended_decoder", bytes=len(bodies[len(done)]), how=ended)
                if losses >= _TRIES or ended != _LOST:
                    done.append(_give_up(bodies[len(done)], ended))
                    losses = 0
            return done

    async def _attempt(self, bodies: Sequence[bytes], recipe: ImageRecipe, done: list[ProcessedImage]) -> str | None:
        """Return how the decoder ended, or None if it processed everything."""
        decoder = self._idle.popleft() if self._idle else await self._start()
        try:
            ended = await decoder.process(bodies, recipe, done)
        except BaseException:
            await self._drop(decoder)
            raise
        if ended is None and decoder.is_reusable:
            self._idle.append(decoder)
        else:
            await self._drop(decoder)
        return ended

    async def _start(self) -> "_Decoder":
        decoder = await _Decoder.start(self._limits)
        self._all.add(decoder)
        return decoder

    async def _drop(self, decoder: "_Decoder") -> None:
        self._all.discard(decoder)
        await asyncio.shield(decoder.end())

    @property
    def processes(self) -> int:
        return self._limits.processes

    @property
    def pids(self) -> list[int]:
        return [decoder.pid for decoder in self._all]

    async def close(self) -> None:
        self._idle.clear()
        for decoder in list(self._all):
            await self._drop(decoder)


_LOST = "lost"
_ENDINGS = {-signal.SIGPROF: "too_slow", -signal.SIGSEGV: "crashed_decoder", -signal.SIGABRT: "crashed_decoder"}
_MEMORY_EXIT = 3


def _give_up(body: bytes, ended: str) -> ProcessedImage:
    import hashlib  # noqa: PLC0415 - only after a crash

    digest = hashlib.sha256(body).hexdigest()
    reason = "crashed_decoder" if ended == _LOST else ended
    return ProcessedImage(ImageFacts(sha256=digest, size=len(body), broken=reason), b"")


class _Decoder:
    def __init__(self, process: asyncio.subprocess.Process, link: BufferedLink, limits: DecoderLimits) -> None:
        self._process = process
        self._link = link
        self._limits = limits
        self.is_reusable = True

    @classmethod
    async def start(cls, limits: DecoderLimits) -> "_Decoder":
        ours, theirs = make_link()
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed below; a pipe could fill up
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "corral.entrypoints.image_process",
                str(theirs.fileno()),
                str(os.getpid()),
                str(limits),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors,
                env=_environment(),
            )
        except OSError as error:
            ours.close()
            errors.close()
            raise DecoderError(f"no image decoder can be started: {error}") from None
        finally:
            theirs.close()
        ours.setblocking(False)
        _, link = await asyncio.get_running_loop().create_unix_connection(BufferedLink, sock=ours)
        decoder = cls(process, link, limits)
        with errors:
            await decoder._wait_until_ready(errors)
        return decoder

    async def _wait_until_ready(self, errors: BinaryIO) -> None:
        """Raise DecoderError if the process ends or does not answer before it gets an image: no image is the cause."""
        try:
            async with asyncio.timeout(self._limits.wall_s):
                while not self._link.received and not self._link.is_lost:
                    await self._link.wait()
        except BaseException as error:
            await asyncio.shield(self.end())
            if isinstance(error, TimeoutError):
                raise DecoderError(f"the image decoder was not ready after {self._limits.wall_s:g} s") from None
            raise
        if not self._link.received:
            await self.end()
            errors.seek(0)
            output = errors.read().decode(errors="replace").strip()[-_STDERR_CHARS:]
            raise DecoderError(f"the image decoder does not start: {output or 'it printed nothing'}")
        del self._link.received[: len(wire.READY)]

    @property
    def pid(self) -> int:
        return self._process.pid

    async def process(self, bodies: Sequence[bytes], recipe: ImageRecipe, done: list[ProcessedImage]) -> str | None:
        encoded_recipe = wire.encode_recipe(recipe)
        parts: list[bytes] = []
        for body in bodies:
            parts += [wire.request_header.pack(len(encoded_recipe), len(body)), encoded_recipe, body]
        self._link.send(parts)
        wanted = len(done) + len(bodies)
        watchdog = Watchdog(self._limits.wall_s, self._kill)
        try:
            while len(done) < wanted:
                answer = wire.pop_answer(self._link.received)
                if answer is not None:
                    done.append(ProcessedImage(*answer))
                    watchdog.restart()
                elif self._link.is_lost:
                    self.is_reusable = False
                    return await self._describe_end(watchdog)
                else:
                    await self._link.wait()
        finally:
            watchdog.end()
        return None

    async def _describe_end(self, watchdog: Watchdog) -> str:
        code = await self._process.wait()
        if watchdog.has_killed:
            return "too_slow"
        return "too_much_memory" if code == _MEMORY_EXIT else _ENDINGS.get(code, _LOST)

    async def end(self) -> None:
        self._link.close()
        self._kill()
        await self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


def _environment() -> dict[str, str]:
    """Return the environment without secrets, and with one thread per process: there is one process per core."""
    return {**environment_without_settings(), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
