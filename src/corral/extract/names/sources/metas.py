"""Read meta elements: OpenGraph, Twitter cards, Dublin Core, citations, plain names."""

import re

from corral.extract.names.words.text import clean_value, plain
from corral.extract.page import Page

_MAX_METAS = 1_000
_OPEN_GRAPH = ("og:", "article:", "product:", "book:", "profile:", "video:", "music:", "place:", "business:")
_DUBLIN_CORE = ("dc.", "dcterms.", "dc:", "dcterms:")


# Schemes that tell several dates or contributors apart.
_ROLES = {
    role.lower(): f".{role}" for role in ("inventor", "assignee", "dateSubmitted", "dateAccepted", "dateReceived")
}


class Metas:
    """The values of each name, in document order. Names are in lower case; `dc:date` and `dc_date` are `dc.date`."""

    def __init__(self, page: Page) -> None:
        self._values: dict[str, list[str]] = {}
        self._spellings: dict[str, str] = {}
        for node in page.tree.css("meta[content]")[:_MAX_METAS]:
            attributes = node.attributes
            value = clean_value(attributes.get("content"))
            for attribute in ("property", "name", "http-equiv"):
                name = (attributes.get(attribute) or "").strip()
                if name and value:
                    self._add(name + _ROLES.get((attributes.get("scheme") or "").lower(), ""), value)
        self._read_twitter_labels()

    def _add(self, name: str, value: str) -> None:
        key = _key(name)
        self._spellings.setdefault(key, name)
        values = self._values.setdefault(key, [])
        if value not in values:
            values.append(value)

    def _read_twitter_labels(self) -> None:
        """Pair `twitter:label1` with its value, `twitter:data1`, and so on."""
        self.labels: list[tuple[str, str]] = []
        for number in "1234":
            label, value = self.get(f"twitter:label{number}"), self.get(f"twitter:data{number}")
            if label and value:
                self.labels.append((label[0], value[0]))

    def get(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def first(self, *names: str) -> str | None:
        return next((self._values[name][0] for name in names if name in self._values), None)

    def source(self, name: str) -> str:
        return f"{kind_of(name)}:{self._spellings.get(name, name)}"

    def names_like(self, key: str) -> list[str]:
        """Return the names that equal the key, as a whole or after their last separator."""
        return [name for name in self._values if key in (plain(name), plain(re.split(r"[:.]", name)[-1]))]


def kind_of(name: str) -> str:
    if name.startswith(_OPEN_GRAPH):
        return "opengraph"
    if name.startswith("twitter:"):
        return "twitter"
    return "dublin-core" if name.startswith("dc") and name[: name.find(".") + 1] in _DUBLIN_CORE else "meta"


def _key(name: str) -> str:
    key = name.lower()
    for prefix in ("dcterms", "dc"):
        if key.startswith((f"{prefix}:", f"{prefix}_")):
            return f"{prefix}.{key[len(prefix) + 1 :]}"
    return key.replace("og:product:", "product:").replace("og:article:", "article:")
