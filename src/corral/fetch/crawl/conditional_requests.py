"""Build conditional requests for pages of an earlier crawl, and detect whether a page has changed since."""

from corral.domain.crawl.item import Change, Item
from corral.fetch.response import Response

_MAX_CHARS = 300  # longer validators are not stored
Version = tuple[str, str | None, str | None]


def conditions(item: Item) -> dict[str, str]:
    """Return the conditional headers for a page that an earlier crawl fetched."""
    if item.earlier_version is None:
        return {}
    _, etag, modified = item.earlier_version
    named = {"if-none-match": etag, "if-modified-since": modified}
    return {name: value for name, value in named.items() if value is not None}


def version_of(digest: str, answer: Response) -> Version:
    return digest, _usable_validator(answer.header("etag")), _usable_validator(answer.header("last-modified"))


def change_of(item: Item, version: Version) -> Change:
    if item.earlier_version is None:
        return Change.NEW
    return Change.UNCHANGED if item.earlier_version[0] == version[0] else Change.CHANGED


def _usable_validator(value: str | None) -> str | None:
    return value if value and len(value) <= _MAX_CHARS and value.isascii() and value.isprintable() else None
