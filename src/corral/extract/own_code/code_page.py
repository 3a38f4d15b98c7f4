"""The argument of `parse(page)` in own code. These names are a public interface: see docs/howto/own-code.md."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.source import Source
from corral.extract.selectors.spec import check_xpath, compile_check
from corral.extract.url_joiner import join_url


class FollowLinks:
    """Links to follow, as `page.follow` returns them."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        self.urls = urls


class CodeElement:
    """A document, or an element of it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def text(self) -> str:
        """The text with single spaces; empty if there is none."""
        return str(next(self._source.find_values(FieldSpec("")), ""))

    def get(self, attribute: str, default: str | None = None) -> str | None:
        """Return the value of an attribute. URLs (`href`, `src` …) are absolute."""
        return next(self._source.find_values(FieldSpec("", attr=attribute)), default)

    def __getitem__(self, attribute: str) -> str:
        value = self.get(attribute)
        if value is None:
            raise KeyError(attribute)
        return value

    def css(self, selector: str) -> "list[CodeElement]":
        spec = FieldSpec("", css=compile_check(selector, field="css"), all=True)
        return [CodeElement(part) for part in self._source.find_parts(spec)]

    def xpath(self, expression: str) -> list[Any]:
        """Return the elements that match, or the texts, attributes, numbers and Booleans of the expression."""
        spec = FieldSpec("", xpath=check_xpath(expression, field="xpath"), all=True)
        elements = [CodeElement(part) for part in self._source.find_parts(spec)]
        return elements or [_plain_text(value) for value in self._source.find_values(spec)]

    def first(self, selector: str) -> "CodeElement | None":
        """Return the first match of a CSS selector, or None."""
        return next(iter(self.css(selector)), None)

    def find(self, name: str) -> Any:
        """Return the value of a bare name, such as `price`, or None."""
        found = self._source.find_one(name)
        return None if found is None else found.value


class CodePage(CodeElement):
    """A page. `fields` has the values that the field recipes found on it."""

    def __init__(  # noqa: PLR0917 - the parts of one page
        self,
        source: Source,
        url: str,
        requested_url: str,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        text: str,
        fields: Mapping[str, Any],
    ) -> None:
        super().__init__(source)
        self.url = url
        self.requested_url = requested_url
        self.status = status
        self.headers = headers
        self.body = body
        self.fields = fields
        self._text = text

    @property
    def text(self) -> str:
        """The decoded document, such as the HTML of a page."""
        return self._text

    def get(self, attribute: str, default: str | None = None) -> str | None:  # noqa: ARG002 - a page has none
        return default

    def json(self) -> Any:
        """Return the document parsed as JSON."""
        return json.loads(self._text)

    def urljoin(self, reference: str) -> str:
        return join_url(self.url, self._source.absolute(reference))

    def follow(self, *references: str) -> FollowLinks:
        """Return links for `parse` to return or yield; a crawl follows them in place of the links of the page."""
        return FollowLinks(tuple(self._reference_of(target) for target in _flatten(references)))

    def _reference_of(self, target: Any) -> str:
        reference = target.get("href") if isinstance(target, CodeElement) else target
        if not isinstance(reference, str) or not reference.strip():
            raise TypeError(f"follow takes addresses or elements with href, and {target!r:.100} is neither")
        return self.urljoin(reference)


def _flatten(references: tuple[Any, ...]) -> Iterator[Any]:
    for reference in references:
        if isinstance(reference, list | tuple):
            yield from reference
        else:
            yield reference


def _plain_text(value: Any) -> Any:
    """Convert a string of lxml, which has its own class, to a plain one."""
    return str(value) if isinstance(value, str) else value
