"""Save responses that are not pages as files, each with a record, or skip them under a named rule."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from corral.domain.crawl.crawl import NOINDEX, CrawlPlan, ItemState
from corral.domain.crawl.item import Item, ItemResult, short_key
from corral.domain.crawl.scope import Refusal
from corral.domain.net.canonical import canonical_url, url_key
from corral.domain.net.url import parse_target
from corral.domain.redaction import redact_result_url
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.documents import is_text, is_text_type
from corral.fetch.egress.context import BodyLimit
from corral.fetch.faults import fault
from corral.fetch.response import Response
from corral.files.saved_files import FileFolder

_SAVED_STATUS = 200


def content_type_of(headers: Sequence[tuple[str, str]]) -> str:
    value = next((value for name, value in headers if name == "content-type"), "")
    return value.partition(";")[0].strip().lower()


def is_file(headers: Sequence[tuple[str, str]], body: bytes) -> bool:
    content_type = content_type_of(headers)
    # SVG is text, but a link to an SVG file is a link to an image.
    return content_type.startswith("image/") or not is_text(content_type, body)


class FileKeeper:
    def __init__(self, folder: FileFolder | None, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def body_limit(self, plan: CrawlPlan) -> BodyLimit:
        """Return the function that limits a body: none for a file that is not saved, more than for a page else."""

        def limit(status: int, headers: tuple[tuple[str, str], ...]) -> int | None:
            content_type = content_type_of(headers)
            if not content_type or (is_text_type(content_type) and not content_type.startswith("image/")):
                return None
            return self._max_bytes if plan.save_files and status == _SAVED_STATUS else 0

        return limit

    async def finish(
        self, item: Item, plan: CrawlPlan, answer: Response, run_id: str, *, noindex: bool
    ) -> ItemResult | Failed:
        failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"))
        if failure is not None:
            return failure
        content_type = content_type_of(answer.headers)
        description = f"{content_type or 'no content type'}"
        if not plan.save_files:
            return self._skip(item, plan, answer, description)
        key = item.key
        if answer.chain:
            target = parse_target(answer.url)
            key = short_key(url_key(target, plan.counting_params))
            if (rule := plan.scope.refuses(canonical_url(target), item.depth)) is not None:
                return ItemResult(
                    item.id, key, ItemState.SKIPPED, rule, http_status=answer.status, size=answer.raw_bytes
                )
        if noindex and plan.obey_noindex:
            result = ItemResult(item.id, key, ItemState.SKIPPED, NOINDEX, http_status=answer.status)
            return result._replace(size=answer.raw_bytes)
        record = await self._save(item, answer, content_type, run_id)
        if isinstance(record, Failed):
            return record
        result = ItemResult(item.id, key, ItemState.DONE, record=record, http_status=answer.status)
        return result._replace(size=answer.raw_bytes)

    def _skip(self, item: Item, plan: CrawlPlan, answer: Response, description: str) -> ItemResult | Failed:
        message = f"a file ({description}); --save-files or save_files keeps it"
        if plan.listing is not None:  # the user selected this link
            return Failed(FailureCode.EXTRACTION, message, "not_a_page", answer.status)
        result = ItemResult(
            item.id, item.key, ItemState.SKIPPED, Refusal.NOT_A_PAGE, message, http_status=answer.status
        )
        return result._replace(size=answer.raw_bytes)

    async def _save(self, item: Item, answer: Response, content_type: str, run_id: str) -> dict[str, Any] | Failed:
        if self._folder is None:
            return Failed(FailureCode.POLICY, "this worker has no folder for files", "no_folder")
        target = parse_target(answer.url, max_chars=len(answer.url))
        name = unquote(target.path.rpartition("/")[2]) or target.host
        try:
            saved = await asyncio.to_thread(self._folder.save, run_id, name, answer.body)
        except OSError as error:
            return fault("limit:disk", f"{name[:100]} could not be saved: {error.strerror or error}")
        return {
            "url": redact_result_url(answer.url),
            "title": name[:500],
            "content_type": content_type or None,
            "size": saved.size,
            "sha256": saved.sha256,
            "path": saved.path,
            "depth": item.depth,
            "http_status": answer.status,
            "source": target.host,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
