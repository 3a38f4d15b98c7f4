"""Compare what is found with what is expected, name by name."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from corral.extract.names.named_values import NamedValues
from corral.extract.page import Page
from eval.pages import RecordedPage


@dataclass(frozen=True, slots=True)
class Judgement:
    page: RecordedPage
    name: str
    expected: Any  # None where the page has no value
    found: Any
    source: str
    confidence: float

    @property
    def is_right(self) -> bool:
        return self.expected is not None and self.found is not None and _same(self.expected, self.found)

    @property
    def is_false(self) -> bool:
        """A value that is wrong, or where there should be none."""
        return self.found is not None and not self.is_right

    @property
    def is_missed(self) -> bool:
        return self.expected is not None and not self.is_right


@dataclass(frozen=True, slots=True)
class Figures:
    right: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.false) if self.right + self.false else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def judge_pages(pages: Iterable[RecordedPage]) -> Iterator[Judgement]:
    for page in pages:
        values = NamedValues(Page(page.html, page.url))
        wanted = {**page.expected, **dict.fromkeys(page.absent)}
        for name, expected in wanted.items():
            found = values.find(name)
            one = values.find_one(name)
            value = [each.value for each in found] if isinstance(expected, list) else one.value if one else None
            source, confidence = (found[0].source, found[0].confidence) if found else ("", 0.0)
            yield Judgement(page, name, expected, value or None, source, confidence)


def count(judgements: Iterable[Judgement]) -> Figures:
    every = list(judgements)
    return Figures(
        right=sum(each.is_right for each in every),
        false=sum(each.is_false for each in every),
        missed=sum(each.is_missed for each in every),
    )


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, list):
        return [_norm(each) for each in expected] == [_norm(each) for each in found]
    return _norm(expected) == _norm(found)


def _norm(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
