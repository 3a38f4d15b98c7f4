"""Expected keys from the addresses that a sitemap lists."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.spec import SitemapKeys
from corral.domain.coverage.values import Value
from corral.domain.ports.coverage import HttpReader

_MAX_SITEMAPS = 5000
_MAX_DEPTH = 3


async def read_sitemap_keys(keys: SitemapKeys, names: Sequence[str], read: HttpReader) -> list[tuple[Value, ...]]:
    """Return the values of every listed address that matches the pattern, also in the sitemaps of an index."""
    from corral.extract.sitemap import NotASitemap, list_sitemap  # noqa: PLC0415 - only where a source uses it

    match = keys.pattern.regex.fullmatch
    host = urlsplit(keys.url).netloc
    found: dict[tuple[Value, ...], None] = {}
    pending, seen = [(keys.url, 0)], {keys.url}
    while pending:
        url, depth = pending.pop(0)
        answer = await read(url)
        if answer.status != 200:
            raise InventoryUnreadable(f"the sitemap {url} answers {answer.status}")
        try:
            listing = list_sitemap(answer.body, answer.content_type)
        except NotASitemap as error:
            raise InventoryUnreadable(f"{url} is not a sitemap: {str(error) or error.fault}") from None
        if not listing.is_whole:
            # With a truncated list, expected keys would disappear silently.
            raise InventoryUnreadable(f"the sitemap {url} is truncated")
        for entry in listing.entries:
            if not listing.is_index:
                matched = match(entry.loc) or match(urlsplit(entry.loc).path)
                if matched is not None:
                    found[matched.group(*names) if len(names) > 1 else (matched[names[0]],)] = None
            elif urlsplit(entry.loc).netloc == host and entry.loc not in seen and depth < _MAX_DEPTH:
                seen.add(entry.loc)
                pending.append((entry.loc, depth + 1))
        if len(seen) > _MAX_SITEMAPS:
            raise InventoryUnreadable(f"{keys.url} lists more than {_MAX_SITEMAPS} sitemaps")
    return list(found)
