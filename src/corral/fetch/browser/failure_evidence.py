"""Evidence of a failed page for a person: a screenshot and its HTML.

Captured only while the run has time left; capturing never changes the outcome.
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
# A page in an endless script does not answer, so the HTML from the last reading is used.
_FRESH_SHARE = 0.3
# Shorter cookie values (`accepted`, `en-GB`) are not secrets, and they occur as words of the page.
_MIN_SECRET_CHARS = 12


async def evidence(
    visit: PageVisit, folder: ArtifactFolder, secrets: Sequence[str], within_s: float
) -> tuple[Artifact, ...]:
    """Store the evidence that can be captured in time. The HTML loses `secrets` and the site's identifiers."""
    if not visit.is_on_the_web:
        return ()  # before the first page, or on an error page of the browser
    artifacts: list[Artifact] = []
    captures = [
        asyncio.create_task(_store_screenshot(visit, folder, artifacts)),
        asyncio.create_task(_store_html(visit, folder, secrets, within_s, artifacts)),
    ]
    try:
        await asyncio.wait(captures, timeout=within_s)
    finally:
        for capture in captures:
            capture.cancel()
        await asyncio.gather(*captures, return_exceptions=True)
    return tuple(artifacts)


async def _store_screenshot(visit: PageVisit, folder: ArtifactFolder, artifacts: list[Artifact]) -> None:
    try:
        data = base64.b64decode(await visit.screenshot(), validate=True)
    except (PlaywrightError, KeyError, binascii.Error):
        return
    if len(data) <= _MAX_SCREENSHOT_BYTES:
        await _store(folder, ArtifactKind.SCREENSHOT, data, artifacts)


async def _store_html(
    visit: PageVisit, folder: ArtifactFolder, secrets: Sequence[str], within_s: float, artifacts: list[Artifact]
) -> None:
    try:
        async with asyncio.timeout(within_s * (_FRESH_SHARE if visit.last_html else 1)):
            await visit.snapshot()
    except (TimeoutError, PlaywrightError):
        pass
    if not visit.last_html:
        return
    try:
        # The browser knows its cookies even if the page does not respond.
        identifiers = [value for value in await visit.identifiers() if len(value) >= _MIN_SECRET_CHARS]
    except PlaywrightError:
        return  # without redaction, nothing is stored
    data = without(visit.last_html, [*secrets, *identifiers]).encode("utf-8", "replace")[:_MAX_HTML_BYTES]
    await _store(folder, ArtifactKind.HTML, data, artifacts)


async def _store(folder: ArtifactFolder, kind: ArtifactKind, data: bytes, artifacts: list[Artifact]) -> None:
    try:
        artifacts.append(await asyncio.to_thread(folder.keep, kind, data))
    except OSError as error:
        log.warning(
            "artifact_write_failed", message="an artifact could not be stored", kind=kind.value, reason=error.strerror
        )
