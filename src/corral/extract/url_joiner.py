"""Resolve references against the base URL of a page."""

import re
from urllib.parse import urljoin, urlsplit

# A reference that matches needs `urljoin`.
_UNUSUAL = re.compile(r"//|/\.|\?#|[;\[\]\s]|[#?]\Z|\A\Z")


class UrlJoiner:
    """`join_url` with a fixed base. Plain references are concatenated with the base, without parsing them."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._origin = self._folder = ""
        try:
            scheme, netloc, path, *_ = urlsplit(base)
        except ValueError:
            return
        if scheme in ("http", "https") and netloc and base.startswith(f"{scheme}://{netloc}"):
            self._origin = f"{scheme}://{netloc}"
            if not path or not _UNUSUAL.search(path):
                self._folder = f"{self._origin}{path[: path.rfind('/') + 1] or '/'}"

    def join(self, reference: str) -> str:
        folder, rest = self._folder, reference
        while rest.startswith("../"):
            folder, rest = self._parent_of(folder), rest[3:]
        if self._origin and _is_usual(rest):
            if rest[0] == "/" and rest is reference:
                return self._origin + reference
            if folder and (rest[0].isalnum() or rest[0] == "_") and ":" not in rest:
                return folder + rest
        return join_url(self._base, reference)

    def _parent_of(self, folder: str) -> str:
        """Return the folder above, or the root itself for the root."""
        return folder[: folder.rfind("/", 0, -1) + 1] if len(folder) > len(self._origin) + 1 else folder


def _is_usual(reference: str) -> bool:
    return reference.isascii() and reference.isprintable() and _UNUSUAL.search(reference) is None


def join_url(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference.strip())
    except ValueError:
        return reference
