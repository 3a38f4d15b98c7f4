"""Values of one source for a name, and how sure the best of them is."""

from collections.abc import Sequence
from dataclasses import dataclass

from corral.extract.names.found import FoundValue
from corral.extract.names.words.text import fold

# How sure a value of each kind of source is by itself.
QUALITY = {
    "json-ld": 0.95,
    "microdata": 0.93,
    "rdfa": 0.92,
    "microformats": 0.88,
    "html": 0.95,
    "opengraph": 0.85,
    "dublin-core": 0.85,
    "meta": 0.8,
    "twitter": 0.75,
    "dl": 0.8,
    "table": 0.8,
    "label": 0.7,
    "heading": 0.65,
    "readable": 0.8,
    "derived": 0.75,
    "heuristic": 0.6,
    "markup": 0.5,
    "list": 0.4,
}
# Values of the page or of the site are a little less sure than those of the main entity.
BESIDE_FACTOR = 0.9
_AGREES = 0.6
_CONTRADICTS = 0.93
_MOST = 0.99


@dataclass(frozen=True, slots=True)
class NameCandidate:
    values: tuple[str, ...]
    source: str
    factor: float = 1.0

    @property
    def kind(self) -> str:
        return self.source.partition(":")[0]


def rate_candidates(candidates: Sequence[NameCandidate]) -> tuple[FoundValue, ...]:
    """The values of the first candidate. Other kinds of sources raise its confidence or lower it."""
    if not candidates:
        return ()
    best = candidates[0]
    confidence = QUALITY.get(best.kind, 0.5) * best.factor
    kinds = {best.kind}
    for other in candidates[1:]:
        if other.kind in kinds:
            continue
        kinds.add(other.kind)
        confidence = 1 - (1 - confidence) * _AGREES if _agree(best, other) else confidence * _CONTRADICTS
    sure = round(min(_MOST, confidence), 2)
    return tuple(FoundValue(value, best.source, sure) for value in best.values)


def _agree(one: NameCandidate, other: NameCandidate) -> bool:
    mine, theirs = fold(" ".join(one.values)), fold(" ".join(other.values))
    if not mine or not theirs:
        return False
    shorter, longer = sorted((mine, theirs), key=len)
    return shorter in longer if len(shorter) >= 8 else shorter == longer
