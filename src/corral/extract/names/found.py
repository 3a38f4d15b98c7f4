"""A value that was found for a bare name."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value with its source, such as `json-ld:Product.offers.price`, and its confidence from 0 to 1."""

    value: Any  # text; any value in a JSON document
    source: str
    confidence: float


MAX_VALUES = 10_000
# How many matches of a selector are tried to find one with a value.
MAX_TRIED = 100
# Names that mean all elements of a kind on the page.
EVERY = {"links": "a[href]", "images": "img[src]"}
