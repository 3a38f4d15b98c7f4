"""Where the images of a dataset come from."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from corral.domain.datasets.fields import ConfigReader
from corral.domain.errors import BadInput
from corral.domain.json_path import parse_query
from corral.domain.net.url import parse_target

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class SourceType(StrEnum):
    URLS = "urls"
    PAGES = "pages"
    CRAWL = "crawl"
    SEARCH = "search"
    COMMAND = "command"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class ImageSource:
    type: SourceType
    category: str = ""  # of every image; empty: by keyword
    urls: tuple[str, ...] = ()
    file: str = ""
    depth: int = 1
    max_pages: int = 100
    items: str = "$[*]"  # JSON path of the results of a search
    image: str = "url"  # and in each result the fields of the image, its page and its caption
    page: str = "page"
    caption: str = "caption"
    pages: int = 1
    command: tuple[str, ...] = ()
    function: str = ""
    timeout_s: int = 60

    @property
    def executes_code(self) -> bool:
        return self.type in (SourceType.COMMAND, SourceType.PYTHON)

    def document(self) -> dict[str, Any]:
        return asdict(self)


_KEYS: dict[SourceType, tuple[str, ...]] = {
    SourceType.URLS: ("urls", "file"),
    SourceType.PAGES: ("urls", "file"),
    SourceType.CRAWL: ("urls", "depth", "max_pages"),
    SourceType.SEARCH: ("url", "items", "image", "page", "caption", "pages"),
    SourceType.COMMAND: ("command", "timeout_s"),
    SourceType.PYTHON: ("function", "timeout_s"),
}


def read_source(reader: ConfigReader, categories: Mapping[str, Any]) -> ImageSource | None:
    if reader.document.get("type") is None:
        reader.complain("type", f"is missing; it has to be one of {', '.join(SourceType)}")
        return None
    kind = reader.choice("type", SourceType, SourceType.URLS)
    reader.refuse_unknown(("type", "category", *_KEYS[kind]))
    category = reader.text("category")
    if category and category not in categories:
        reader.complain("category", f"is {category!r}; the categories are {', '.join(categories)}")
    usual = ImageSource(kind)
    source = ImageSource(
        kind,
        category=category,
        urls=reader.texts("urls") or reader.texts("url"),
        file=reader.text("file"),
        depth=reader.number("depth", usual.depth, 0, 20),
        max_pages=reader.number("max_pages", usual.max_pages, 1, 100_000),
        items=reader.text("items") or usual.items,
        image=reader.text("image") or usual.image,
        page=reader.text("page") or usual.page,
        caption=reader.text("caption") or usual.caption,
        pages=reader.number("pages", usual.pages, 1, 1000),
        command=reader.texts("command"),
        function=reader.text("function"),
        timeout_s=reader.number("timeout_s", usual.timeout_s, 1, 3600),
    )
    _check(source, reader)
    return source


def _check(source: ImageSource, reader: ConfigReader) -> None:
    for url in source.urls:
        _check_url(url, source, reader)
    if source.type is SourceType.COMMAND:
        if not source.command:
            reader.complain("command", "is missing; write a list such as [./find_images, '{keyword}']")
        return
    if source.type is SourceType.PYTHON:
        if not _FUNCTION.fullmatch(source.function):
            reader.complain("function", "has to be module:function")
        return
    if not source.urls and not source.file:
        reader.complain("url" if source.type is SourceType.SEARCH else "urls", "is missing")
    if source.type is SourceType.SEARCH:
        _check_search(source, reader)


def _check_url(url: str, source: ImageSource, reader: ConfigReader) -> None:
    plain = url.replace("{keyword}", "x").replace("{page}", "1") if source.type is SourceType.SEARCH else url
    try:
        parse_target(plain, max_chars=8192)
    except BadInput as problem:
        reader.complain("urls", f"has {url[:200]!r}: {problem.message}")


def _check_search(source: ImageSource, reader: ConfigReader) -> None:
    try:
        parse_query(source.items, field="items")
    except BadInput as problem:
        reader.complain("items", problem.message)
    if source.urls and "{keyword}" not in source.urls[0]:
        reader.complain("url", "needs {keyword} where the keyword is put")
    if source.pages > 1 and source.urls and "{page}" not in source.urls[0]:
        reader.complain("url", "needs {page} where the number of the page is put, or pages: 1")
