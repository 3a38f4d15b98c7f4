"""Find the images of a dataset: addresses, pages, crawls and searches, source by source, each once."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from corral.datasets.context import BuildContext
from corral.datasets.search import SourceFailed, search
from corral.datasets.url_files import read_entries
from corral.domain.datasets.config import fingerprint
from corral.domain.datasets.image import FoundImage
from corral.domain.datasets.sources import ImageSource, SourceType
from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import parse_target
from corral.domain.ports.datasets import ImagePage
from corral.domain.runs.outcome import Deferred, Failed

NO_CATEGORY = "no_category"
BAD_ADDRESS = "bad_address"
NOAI = "policy:noai"
_PAGES_AT_ONCE = 8
_TRIES = 4
_MAX_WAIT_S = 30.0
_MAX_CAPTION = 2000


async def discover(context: BuildContext) -> int:
    """Add the images of all sources; return how many the build has. A source that completed is not read again."""
    done: dict[str, Any] = context.progress.setdefault("sources", {})
    limit, total = context.config.options.max_images, 0
    for index, source in enumerate(context.config.sources):
        name = f"{source.type}[{index}]"
        source_key = fingerprint([source.document(), _describe_file(context, source), context.config.categories])
        notes = done.get(source_key)
        if notes is None:
            before = dict(context.notes)
            context.notes.clear()
            try:
                total = await _Discovery(context, source, name, limit).run()
            except SourceFailed as error:
                context.count(f"source_failed:{name}: {error}"[:300])
            notes = dict(context.notes)
            context.notes.clear()
            context.notes.update(before)
            if not any(reason.startswith("source_failed") for reason in notes):
                done[source_key] = notes
                await context.store.note(context.progress)
        for reason, count in notes.items():
            context.count(reason, count)
    _, total = await context.store.add_images([], limit)
    return total


def _describe_file(context: BuildContext, source: ImageSource) -> list[int]:
    """Return the size and time of the file of a source, so that a changed file is read again."""
    if not source.file:
        return []
    try:
        status = (context.root / source.file).stat()
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns]


class _Discovery:
    """Reads one source."""

    def __init__(self, context: BuildContext, source: ImageSource, name: str, limit: int | None) -> None:
        self._context = context
        self._source = source
        self._name = name
        self._limit = limit

    async def run(self) -> int:
        source = self._source
        match source.type:
            case SourceType.URLS:
                entries = [{"url": url} for url in source.urls]
                return await self._add_entries([*entries, *self._read_file()])
            case SourceType.PAGES:
                addresses = [*source.urls, *(str(entry["url"]) for entry in self._read_file())]
                return await self._read_pages(addresses, depth=0)
            case SourceType.CRAWL:
                return await self._read_pages(list(source.urls), depth=source.depth)
            case _:
                return await self._search()

    def _read_file(self) -> list[dict[str, Any]]:
        if not self._source.file:
            return []
        try:
            return read_entries(self._context.root / self._source.file)
        except BadConfiguration as error:
            raise SourceFailed("; ".join(error.problems)) from None

    async def _add_entries(self, entries: Iterable[Mapping[str, Any]], category: str = "", keyword: str = "") -> int:
        images = [
            image
            for entry in entries
            if (image := self._image(entry, category or self._source.category, keyword)) is not None
        ]
        _, total = await self._context.store.add_images(images, self._limit)
        self._context.report(total, total)
        return total

    def _image(self, entry: Mapping[str, Any], category: str, keyword: str, refusal: str = "") -> FoundImage | None:
        """Return the image of an entry; None if its URL is invalid or no category fits."""
        url, caption, page_url = (_text(entry.get(name)) for name in ("url", "caption", "page_url"))
        try:
            address = canonical_url(parse_target(url, max_chars=8192))
        except BadInput:
            self._context.count(BAD_ADDRESS)
            return None
        own = _text(entry.get("category"))
        category = own if own in self._context.config.categories else category
        if not category:
            match = self._context.config.category_of(f"{caption} {url}")
            if match is None and len(self._context.config.categories) == 1:
                match = (next(iter(self._context.config.categories)), "")
            if match is None:
                self._context.count(NO_CATEGORY)
                return None
            category, keyword = match
        return FoundImage(address, category, keyword, page_url, caption[:_MAX_CAPTION], self._name, refusal)

    async def _search(self) -> int:
        total, failures = 0, []
        for category, keywords in self._context.config.categories.items():
            if self._source.category and category != self._source.category:
                continue
            for keyword in keywords or (category,):
                try:
                    async for entries in search(self._context, self._source, keyword):
                        total = await self._add_entries(entries, category, keyword)
                except SourceFailed as error:
                    failures.append(f"{keyword}: {error}")
        if failures:
            raise SourceFailed(f"{len(failures)} searches; the first: {failures[0]}")
        return total

    async def _read_pages(self, addresses: Sequence[str], depth: int) -> int:
        """Read pages level by level, concurrently. Their order of use is fixed, so that a build can be repeated."""
        total, seen, level = 0, set(addresses), list(dict.fromkeys(addresses))
        hosts = {parse_target(address).host for address in addresses}
        count = 0
        for step in range(depth + 1):
            following: dict[str, None] = {}
            for start in range(0, len(level), _PAGES_AT_ONCE):
                part = level[start : start + _PAGES_AT_ONCE]
                if depth:
                    part = part[: max(0, self._source.max_pages - count)]
                count += len(part)
                pages = await asyncio.gather(*(self._read_page(address) for address in part))
                for page in pages:
                    if page is None:
                        continue
                    total = await self._add_page(page)
                    if step < depth:
                        following |= dict.fromkeys(link for link in page.links if link not in seen)
            level = [link for link in following if _is_on(link, hosts)]
            seen.update(level)
        return total

    async def _add_page(self, page: ImagePage) -> int:
        refusal = NOAI if page.noai and self._context.config.options.respect_noai else ""
        entries = [{"url": image.url, "caption": image.caption, "page_url": page.url} for image in page.images]
        # The title of the page decides about images whose caption and URL match no category.
        category = self._source.category
        match = None if category else self._context.config.category_of(page.title)
        images = []
        for entry in entries:
            own = None if category else self._context.config.category_of(f"{entry['caption']} {entry['url']}")
            chosen = category or (own or match or ("", ""))[0]
            keyword = "" if category else (own or match or ("", ""))[1]
            image = self._image(entry, chosen, keyword, refusal)
            if image is not None:
                images.append(image)
        _, total = await self._context.store.add_images(images, self._limit)
        self._context.report(total, total)
        return total

    async def _read_page(self, address: str) -> ImagePage | None:
        failures = 0
        while True:
            answer = await self._context.fetcher.read_page(address, self._context.rules)
            if isinstance(answer, ImagePage):
                return answer
            if isinstance(answer, Deferred):  # nothing was requested, so it is no attempt
                await asyncio.sleep(min(answer.seconds, _MAX_WAIT_S))
                continue
            failures += 1
            if failures >= _TRIES or not _may_retry(answer):
                self._count_page(answer)
                return None
            await asyncio.sleep(0.5 * 2 ** (failures - 1))

    def _count_page(self, answer: Failed) -> None:
        reason = answer.detail or answer.code
        # A crawl also finds documents that are no pages, and dead links.
        is_expected = self._source.type is SourceType.CRAWL and reason in ("no_page", "http_404", "http_410")
        self._context.count(f"{'no_page' if is_expected else 'page_failed'}:{reason}")


def _may_retry(answer: Failed) -> bool:
    if answer.code in ("policy", "limit", "extraction"):
        return False
    return answer.http_status is None or answer.http_status >= 500 or answer.http_status == 429


def _is_on(link: str, hosts: set[str]) -> bool:
    try:
        return parse_target(link, max_chars=8192).host in hosts
    except BadInput:
        return False


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
