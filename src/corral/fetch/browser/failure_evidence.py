"""What a page looked like when it failed, kept for a person: a screenshot and its HTML.

Taken while the run still has time and given up where that is not enough: it never changes what it is evidence of.
"""

import asyncio
import base64
import binascii
from collections.abc import Sequence

import structlog
from playwright.async_api import Error as PlaywrightError

from corral.domain.runs.artifact import Artifact, ArtifactKind
from corral.domain.secret import without
from corral.fetch.browser.visit import PageVisit
from corral.fetch.limits import MIB
from corral.files.artifacts import ArtifactFolder

log = structlog.get_logger()

WITHIN_S = 3.0
_MAX_SCREENSHOT_BYTES = 4 * MIB  # 1280x720 of noise are 2.7 MiB
_MAX_HTML_BYTES = 2 * MIB
# A page whose script does not end answers no question either; what was read of it before will do.
_FRESH_SHARE = 0.3
# A cookie that is shorter (`accepted`, `en-GB`) opens nothing, and is a word of the page as well.
_MIN_SECRET_CHARS = 12


async def evidence(
    visit: PageVisit, folder: ArtifactFolder, secrets: Sequence[str], within_s: float
) -> tuple[Artifact, ...]:
    """What could be kept in this time. `secrets` and what the site knows us by are left out of the HTML."""
    if not visit.is_on_the_web:
        return ()  # before the first page, or on the browser's own about an error
    kept: list[Artifact] = []
    takers = [
        asyncio.create_task(_keep_screenshot(visit, folder, kept)),
        asyncio.create_task(_keep_html(visit, folder, secrets, within_s, kept)),
    ]
    try:
        await asyncio.wait(takers, timeout=within_s)
    finally:
        for taker in takers:
            taker.cancel()
        await asyncio.gather(*takers, return_exceptions=True)
    return tuple(kept)


async def _keep_screenshot(visit: PageVisit, folder: ArtifactFolder, kept: list[Artifact]) -> None:
    try:
        data = base64.b64decode(await visit.screenshot(), validate=True)
    except (PlaywrightError, KeyError, binascii.Error):
        return
    if len(data) <= _MAX_SCREENSHOT_BYTES:
        await _keep(folder, ArtifactKind.SCREENSHOT, data, kept)


async def _keep_html(
    visit: PageVisit, folder: ArtifactFolder, secrets: Sequence[str], within_s: float, kept: list[Artifact]
) -> None:
    try:
        async with asyncio.timeout(within_s * (_FRESH_SHARE if visit.last_html else 1)):
            await visit.snapshot()
    except (TimeoutError, PlaywrightError):
        pass
    if not visit.last_html:
        return
    try:
        # Of the browser, not of the page: it answers also where the page does not.
        known_by = [value for value in await visit.identifiers() if len(value) >= _MIN_SECRET_CHARS]
    except PlaywrightError:
        return  # what cannot be cleaned is not kept
    data = without(visit.last_html, [*secrets, *known_by]).encode("utf-8", "replace")[:_MAX_HTML_BYTES]
    await _keep(folder, ArtifactKind.HTML, data, kept)


async def _keep(folder: ArtifactFolder, kind: ArtifactKind, data: bytes, kept: list[Artifact]) -> None:
    try:
        kept.append(await asyncio.to_thread(folder.keep, kind, data))
    except OSError as error:
        log.warning(
            "artifact_write_failed", message="an artifact could not be stored", kind=kind.value, reason=error.strerror
        )
