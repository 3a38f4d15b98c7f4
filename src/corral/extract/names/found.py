"""A value that a page gives for a name."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FoundValue:
    """`source` says where it came from (`json-ld:Product.offers.price`), `confidence` how sure it is (0 to 1)."""

    value: Any  # text; of a JSON document any value
    source: str
    confidence: float


MAX_VALUES = 10_000
# How many matches of a selector are tried for one that has a value.
MAX_TRIED = 100
# Names for every element of a kind, whatever it is about.
EVERY = {"links": "a[href]", "images": "img[src]"}
