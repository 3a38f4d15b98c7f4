"""Search back ends of the user: a URL with a JSON answer, a command, or a Python function."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from corral.datasets.context import BuildContext
from corral.datasets.url_files import parse_entries
from corral.domain.datasets.sources import ImageSource, SourceType
from corral.domain.errors import BadConfiguration
from corral.domain.json_path import parse_query, select
from corral.domain.runs.outcome import Deferred, FailureCode
from corral.runtime.process import environment_without_settings

_MAX_OUTPUT = 64 * 1024 * 1024
_MAX_WAIT_S = 30.0
_TRIES = 3
# Runs `module:function(keyword)`, and prints its results as JSON lines.
_FUNCTION = """
import importlib, json, sys
sys.path.insert(0, "")
module, _, name = sys.argv[1].partition(":")
for found in getattr(importlib.import_module(module), name)(sys.argv[2]):
    print(json.dumps(found if isinstance(found, dict) else {"url": found}), flush=True)
"""


class SourceFailed(Exception):
    """Raised if a source fails. The message is the reason."""


async def search(context: BuildContext, source: ImageSource, keyword: str) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield the results for a keyword, as entries with `url`, `caption` and `page_url`; raise SourceFailed."""
    if source.type is SourceType.SEARCH:
        for page in range(1, source.pages + 1):
            entries = await _search_page(context, source, keyword, page)
            yield entries
            if not entries:
                return
        return
    yield await _execute(context, source, keyword)


async def _search_page(context: BuildContext, source: ImageSource, keyword: str, page: int) -> list[dict[str, Any]]:
    address = source.urls[0].replace("{keyword}", quote(keyword, safe="")).replace("{page}", str(page))
    body = await fetch_document(context, address)
    try:
        document = orjson.loads(body)
    except ValueError:
        raise SourceFailed(f"{address[:200]} did not answer with JSON") from None
    entries: list[dict[str, Any]] = []
    for item in select(document, parse_query(source.items, field="items")):
        if isinstance(item, str):
            entries.append({"url": item})
        elif isinstance(item, dict):
            entries.append(
                {
                    "url": item.get(source.image),
                    "page_url": item.get(source.page),
                    "caption": item.get(source.caption),
                }
            )
    return [entry for entry in entries if isinstance(entry["url"], str)]


async def fetch_document(context: BuildContext, address: str) -> bytes:
    failures = 0
    while True:
        answer = await context.fetcher.fetch_document(address, context.rules)
        if isinstance(answer, bytes):
            return answer
        if isinstance(answer, Deferred):  # nothing was requested, so it is no attempt
            await asyncio.sleep(min(answer.seconds, _MAX_WAIT_S))
            continue
        failures += 1
        is_final = answer.http_status is not None and answer.http_status < 500
        if is_final or failures >= _TRIES or answer.code is FailureCode.POLICY:
            raise SourceFailed(answer.message)
        await asyncio.sleep(min(2.0 ** (failures - 1), _MAX_WAIT_S))


async def _execute(context: BuildContext, source: ImageSource, keyword: str) -> list[dict[str, Any]]:
    if source.type is SourceType.PYTHON:
        argv: Sequence[str] = (sys.executable, "-c", _FUNCTION, source.function, keyword)
    else:
        argv = [part.replace("{keyword}", keyword) for part in source.command]
    output = await _run(argv, str(context.root), source.timeout_s)
    try:
        entries = parse_entries(output.decode("utf-8", "replace"), ".jsonl", argv[0])
    except BadConfiguration:
        entries = parse_entries(output.decode("utf-8", "replace"), ".txt", argv[0])
    return [entry for entry in entries if isinstance(entry.get("url"), str)]


async def _run(argv: Sequence[str], cwd: str, timeout_s: float) -> bytes:
    """Execute a command of the user without a shell; its whole process group ends with it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environment_without_settings(),
            start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_MAX_OUTPUT,
        )
    except OSError as error:
        raise SourceFailed(f"{argv[0]}: {error.strerror or error}") from None
    try:
        async with asyncio.timeout(timeout_s):
            output, errors = await process.communicate()
    except TimeoutError:
        raise SourceFailed(f"{argv[0]} did not end within {timeout_s:g} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        raise SourceFailed(f"{argv[0]} exited with {process.returncode}: {lines[-1][:300] if lines else ''}")
    return output
