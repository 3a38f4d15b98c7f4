"""Decide which URLs belong to a crawl, and name the rule that excludes a URL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import DEFAULT_PORTS, MAX_URL_CHARS, Target, parse_target
from corral.domain.net.url_pattern import UrlPattern, parse_pattern

MAX_PATTERNS = 100
MAX_DOMAINS = 1_000
MAX_DEPTH = 100

# File name extensions that almost never belong to a page.
_IMAGES = "png jpg jpeg gif webp avif svg ico bmp tif tiff heic psd ai eps"
_ARCHIVES = "zip gz tgz bz2 xz zst 7z rar tar jar war deb rpm apk dmg iso img exe msi bin pkg whl"
_MEDIA = "mp3 m4a ogg oga opus wav flac aac mp4 m4v mov avi mkv webm mpg mpeg wmv flv m3u8"
_PARTS = "woff woff2 ttf otf eot css js mjs map wasm swf"
_PAPERS = "pdf doc docx xls xlsx ppt pptx odt ods odp rtf epub mobi csv parquet sqlite"
_NOT_PAGES = frozenset(" ".join((_IMAGES, _ARCHIVES, _MEDIA, _PARTS, _PAPERS)).split())
_ANYTHING = "*"
_FIELDS = frozenset({"mode", "include", "exclude", "allowed_domains", "max_depth"})


class ScopeMode(StrEnum):
    SITE = "site"  # the host without `www.`, and its subdomains
    HOST = "host"  # exactly this host and port
    PATH = "path"  # below the folder of the start URL
    ANY = "any"  # any URL


class Refusal(StrEnum):
    """The rules, in the order in which they are applied."""

    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    OUT_OF_SCOPE = "out_of_scope"
    NOT_A_PAGE = "not_a_page"  # decided by the answer
    EXCLUDED = "excluded"
    NOT_INCLUDED = "not_included"
    NOFOLLOW = "nofollow"  # requested by the page; the only rule that does not depend on the URL alone


@dataclass(frozen=True)
class Scope:
    """`allowed_domains` are in scope beside the start's own site; with `any`, only they and that site are.

    Start URLs have depth 0 and are always in scope.
    """

    starts: tuple[str, ...]
    mode: ScopeMode = ScopeMode.SITE
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    allowed_domains: tuple[str, ...] = ()
    max_depth: int = 1

    def document(self) -> dict[str, Any]:
        """Return the scope without the start URLs, which the crawl plan stores."""
        return {
            "mode": self.mode.value,
            "include": list(self.include),
            "exclude": list(self.exclude),
            "allowed_domains": list(self.allowed_domains),
            "max_depth": self.max_depth,
        }

    @staticmethod
    def of(document: Mapping[str, Any], starts: Sequence[str], *, field: str = "scope") -> "Scope":
        """Parse a scope; BadInput names the field that is wrong."""
        for name in document:
            if name not in _FIELDS:
                raise BadInput(
                    f"{str(name)[:80]!r} is not a scope option",
                    field=f"{field}.{str(name)[:80]}",
                    hint=f"known options: {', '.join(sorted(_FIELDS))}",
                )
        include = _patterns(document.get("include"), f"{field}.include")
        exclude = _patterns(document.get("exclude"), f"{field}.exclude")
        domains = _texts(document.get("allowed_domains"), f"{field}.allowed_domains", MAX_DOMAINS)
        return Scope(
            starts=tuple(canonical_url(parse_target(start, field="url")) for start in starts),
            mode=_mode(document.get("mode", ScopeMode.SITE), f"{field}.mode"),
            include=include,
            exclude=exclude,
            allowed_domains=tuple(_domain(each, f"{field}.allowed_domains") for each in domains),
            max_depth=_depth(document.get("max_depth", 1), f"{field}.max_depth"),
        )

    @cached_property
    def _targets(self) -> tuple[Target, ...]:
        return tuple(parse_target(start) for start in self.starts)

    @cached_property
    def _spellings(self) -> frozenset[str]:
        """Return the start URLs as pages link to them: over http and https, with and without a trailing slash."""
        spellings = set()
        for start in self.starts:
            for scheme in DEFAULT_PORTS:
                path, mark, query = f"{scheme}{start[start.index(':') :]}".partition("?")
                spellings |= {f"{bare}{mark}{query}" for bare in (path, path.rstrip("/"), path.rstrip("/") + "/")}
        return frozenset(spellings)

    @cached_property
    def _homes(self) -> tuple["_Home", ...]:
        unlimited = self.mode is ScopeMode.ANY and not self.allowed_domains
        return () if unlimited else tuple(dict.fromkeys(_home(each, self.mode) for each in self._targets))

    @cached_property
    def _included(self) -> tuple[UrlPattern, ...]:
        return tuple(UrlPattern(text) for text in self.include)

    @property
    def follows_nothing(self) -> bool:
        """True if only the start URLs belong to the crawl."""
        return self.exclude == (_ANYTHING,)

    @cached_property
    def _excluded(self) -> tuple[UrlPattern, ...]:
        return tuple(UrlPattern(text) for text in self.exclude)

    def refuses(self, url: str, depth: int) -> Refusal | None:
        """Return the rule that excludes this canonical URL, or None."""
        path_at = url.find("/", 8)  # after `http://h`, the shortest origin
        refusal = self._refusal(url, path_at, depth)
        return None if refusal is not None and url in self._spellings else refusal

    def _refusal(self, url: str, path_at: int, depth: int) -> Refusal | None:
        if depth > self.max_depth:
            return Refusal.TOO_DEEP
        if self._homes and not self._is_home(url, path_at):
            return Refusal.OUT_OF_SCOPE
        # Checked after the user's rules: this rule is built in, and a crawl from which it excludes something is
        # partial.
        if len(url) > MAX_URL_CHARS:
            return Refusal.TOO_LONG
        if self.exclude and any(pattern.matches(url, path_at) for pattern in self._excluded):
            return Refusal.EXCLUDED
        if self.include and not any(pattern.matches(url, path_at) for pattern in self._included):
            return Refusal.NOT_INCLUDED
        return None

    def _is_home(self, url: str, path_at: int) -> bool:
        host, port = _split(url[:path_at])
        for home in self._homes:
            if home.has(host, port) and (home.folder == "/" or home.holds(url, path_at)):
                return True
        return bool(self.allowed_domains) and any(_is_below(host, domain) for domain in self.allowed_domains)


@dataclass(frozen=True, slots=True)
class _Home:
    host: str
    port: int  # 0 for the default port of the scheme: the scheme itself does not count
    with_subdomains: bool
    folder: str

    def has(self, host: str, port: int) -> bool:
        if port != self.port:
            return False
        return host == self.host or (self.with_subdomains and host.endswith(self.host) and _is_below(host, self.host))

    def holds(self, url: str, path_at: int) -> bool:
        """True below the folder, and for the folder itself without its trailing slash."""
        if url.startswith(self.folder, path_at):
            return True
        return url[path_at:].partition("?")[0] + "/" == self.folder


def _home(target: Target, mode: ScopeMode) -> _Home:
    port = 0 if target.port == DEFAULT_PORTS[target.scheme] else target.port
    folder = "/"
    if mode is ScopeMode.PATH:
        path = canonical_url(target)[len(target.origin) :].partition("?")[0]
        folder = path[: path.rfind("/") + 1]
    if mode in (ScopeMode.SITE, ScopeMode.ANY) and not target.is_literal_ip:
        return _Home(target.host.removeprefix("www."), port, with_subdomains=True, folder=folder)
    return _Home(target.host, port, with_subdomains=False, folder=folder)


# Memo: a crawl meets few origins, each on every page.
@lru_cache(maxsize=4096)
def _split(origin: str) -> tuple[str, int]:
    target = parse_target(origin)
    return target.host, 0 if target.port == DEFAULT_PORTS[target.scheme] else target.port


def _is_below(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)


def is_named_as_file(url: str) -> bool:
    """True if the URL path ends with the extension of a file.

    `/why-node.js` and `/wiki/File:Photo.jpg` are pages all the same, and only the answer shows it. Such URLs are
    therefore fetched after others of their depth, and only their head is read if they are files.
    """
    path_at = url.find("/", 8)
    end = url.find("?", path_at)
    if end < 0:
        end = len(url)
    dot = url.rfind(".", max(path_at, end - 8), end)
    if dot < 0:
        return False
    # An extension cannot contain a slash; such a text is not in the list either.
    return url[dot + 1 : end].lower() in _NOT_PAGES


def _mode(value: object, field: str) -> ScopeMode:
    try:
        return ScopeMode(str(value))
    except ValueError:
        modes = ", ".join(ScopeMode)
        raise BadInput(f"unknown scope {str(value)[:80]!r}", field=field, hint=f"write one of {modes}") from None


def _depth(value: object, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_DEPTH:
        raise BadInput("max_depth must be a whole number within its range", field=field, hint=f"write 1 to {MAX_DEPTH}")
    return value


def _texts(value: object, field: str, max_entries: int) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise BadInput(f"{field} must be a list of strings", field=field, hint='write it as ["…", "…"]')
    if len(value) > max_entries:
        raise BadInput(f"{len(value)} entries, more than {max_entries}", field=field, hint="combine or drop some")
    return tuple(value)


def _patterns(value: object, field: str) -> tuple[str, ...]:
    texts = _texts(value, field, MAX_PATTERNS)
    for index, text in enumerate(texts):
        parse_pattern(text, f"{field}[{index}]")
    return tuple(dict.fromkeys(texts))


def _domain(text: str, field: str) -> str:
    try:
        target = parse_target(f"https://{text.strip().removeprefix('*.').removeprefix('.')}", field=field)
    except BadInput:
        target = None
    if target is None or target.path != "/" or target.query is not None or target.port != 443:
        raise BadInput(f"{text[:80]!r} is not a domain", field=field, hint="write it as example.com, without http://")
    return target.host
