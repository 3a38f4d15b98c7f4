"""URL patterns such as /product/*."""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from corral.domain.errors import BadInput
from corral.domain.net.canonical import normalize_escapes

MAX_CHARS = 500
MAX_STARS = 20
_PATTERN_SAFE = "/%:@!$&'()*+,;=~-._?[]"


@dataclass(frozen=True)
class UrlPattern:
    """A pattern in which `*` matches any characters, `/` included; everything else matches itself.

    A pattern that begins with `/` is compared with the path (and with the query if the pattern has a `?`), any other
    pattern with the whole address. Regular expressions are not supported: a user's pattern must not be able to stall a
    crawl.
    """

    text: str

    @cached_property
    def _pieces(self) -> tuple[str, ...]:
        return tuple(_normalize_pattern(self.text).split("*"))

    def matches(self, url: str, path_at: int) -> bool:
        """Match a canonical URL whose path begins at `path_at`."""
        if self.text[0] == "/":
            url = url[path_at:]
            if "?" not in self.text:
                url = url.partition("?")[0]
        first, *others = self._pieces
        if not others:
            return url == first
        last = others.pop()
        if len(url) < len(first) + len(last) or not (url.startswith(first) and url.endswith(last)):
            return False
        # The leftmost match of each piece leaves the most room for the next piece, so no backtracking is needed.
        at, end = len(first), len(url) - len(last)
        for piece in others:
            index = url.find(piece, at, end)
            if index < 0:
                return False
            at = index + len(piece)
        return True


def parse_pattern(value: object, field: str) -> str:
    text = value if isinstance(value, str) else ""
    problem = _problem(text)
    if problem is not None:
        raise BadInput(
            f"the pattern {text[:80]!r} {problem}",
            field=field,
            hint="write a path such as /articles/* or an address such as https://example.com/a/*; * is any text",
            code="bad_pattern",
        )
    return text


def _problem(text: str) -> str | None:
    if not text.strip():
        return "is empty"
    if len(text) > MAX_CHARS:
        return f"has {len(text)} characters, more than {MAX_CHARS}"
    if text.count("*") > MAX_STARS:
        return f"has more than {MAX_STARS} stars"
    if not text.isprintable() or any(char in text for char in " \\#"):
        return "has a space, a backslash, a # or an unprintable character"
    if not text.lower().startswith(("/", "*", "http://", "https://")):
        return "begins with none of / * http:// https://"
    return None


def _normalize_pattern(text: str) -> str:
    """Return the pattern in the spelling of canonical URLs."""
    text = normalize_escapes(quote(text, safe=_PATTERN_SAFE))
    if text[0] == "/":
        return text
    scheme, mark, rest = text.partition("://")
    host, slash, tail = rest.partition("/")
    return f"{scheme.lower()}{mark}{host.lower()}{slash}{tail}"
