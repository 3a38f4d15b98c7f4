"""Expected keys from the addresses that a sitemap lists."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.spec import SitemapKeys
from corral.domain.coverage.values import Value
from corral.domain.ports.coverage import HttpReader

_MOST_SITEMAPS = 5000
_DEEPEST = 3


async def read_sitemap_keys(keys: SitemapKeys, names: Sequence[str], read: HttpReader) -> list[tuple[Value, ...]]:
    """The values of every listed address that matches the pattern, also in the sitemaps of an index."""
    from corral.extract.sitemap import NotASitemap, list_sitemap  # noqa: PLC0415 - only where a source uses it

    match = keys.pattern.regex.fullmatch
    host = urlsplit(keys.url).netloc
    found: dict[tuple[Value, ...], None] = {}
    waiting, seen = [(keys.url, 0)], {keys.url}
    while waiting:
        url, level = waiting.pop(0)
        answer = await read(url)
        if answer.status != 200:
            raise InventoryUnreadable(f"the sitemap {url} answers {answer.status}")
        try:
            listing = list_sitemap(answer.body, answer.content_type)
        except NotASitemap as error:
            raise InventoryUnreadable(f"{url} is no sitemap: {str(error) or error.fault}") from None
        if not listing.is_whole:
            # A truncated list would make expected keys disappear without a word.
            raise InventoryUnreadable(f"the sitemap {url} is truncated")
        for entry in listing.entries:
            if not listing.is_index:
                matched = match(entry.loc) or match(urlsplit(entry.loc).path)
                if matched is not None:
                    found[matched.group(*names) if len(names) > 1 else (matched[names[0]],)] = None
            elif urlsplit(entry.loc).netloc == host and entry.loc not in seen and level < _DEEPEST:
                seen.add(entry.loc)
                waiting.append((entry.loc, level + 1))
        if len(seen) > _MOST_SITEMAPS:
            raise InventoryUnreadable(f"{keys.url} lists more than {_MOST_SITEMAPS} sitemaps")
    return list(found)
