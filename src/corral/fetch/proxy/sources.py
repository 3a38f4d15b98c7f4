"""Read the proxy lists that the configuration names: files, addresses and commands."""

import asyncio
import contextlib
from pathlib import Path

from corral.domain.net.url import parse_target
from corral.domain.proxies.config import ProxyListSource
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.response import Response

_MAX_BYTES = 16 * 1024 * 1024
_TIMEOUT_S = 60.0


class SourceProblem(Exception):
    """Raised if a source cannot be read. The message is the reason, without any content of the source."""


class SourceReader:
    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def read_list(self, source: ProxyListSource) -> tuple[str | None, str]:
        try:
            return await self.read(source), ""
        except SourceProblem as problem:
            return None, str(problem)

    async def read(self, source: ProxyListSource) -> str:
        """Return the text of a list, or raise SourceProblem."""
        if source.kind == "file":
            return await asyncio.to_thread(_read_file, Path(source.where[0]))
        if source.kind == "url":
            return await self._fetch(source.where[0])
        return await _run_command(source.where)

    async def _fetch(self, url: str) -> str:
        target = parse_target(url, field="url")
        # The operator named this host, so it may be private.
        context = FetchContext(trusted_hosts=frozenset({f"{target.host}:{target.port}"}))
        answer = await self._egress.fetch(FetchRequest(url, _TIMEOUT_S, max_bytes=_MAX_BYTES), context)
        if not isinstance(answer, Response):
            raise SourceProblem(answer.message)
        if answer.status != 200:
            raise SourceProblem(f"it answered {answer.status}")
        return answer.body.decode("utf-8", "replace")


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise SourceProblem(error.strerror or "it cannot be read") from None
    if len(data) > _MAX_BYTES:
        raise SourceProblem(f"it is larger than {_MAX_BYTES} bytes")
    return data.decode("utf-8", "replace")


async def _run_command(words: tuple[str, ...]) -> str:
    """Run a program without a shell and return its output."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        raise SourceProblem(f"the command cannot be started ({error.strerror})") from None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            data = b""
            while piece := await process.stdout.read(65536):
                data += piece
                if len(data) > _MAX_BYTES:
                    raise SourceProblem(f"the command printed more than {_MAX_BYTES} bytes")
            code = await process.wait()
    except TimeoutError:
        raise SourceProblem(f"the command took longer than {_TIMEOUT_S:g} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if code != 0:
        raise SourceProblem(f"the command exited with {code}")
    return data.decode("utf-8", "replace")
