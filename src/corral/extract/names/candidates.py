"""Candidate values for a bare name, one per source, and the confidence of the best."""

from collections.abc import Sequence
from dataclasses import dataclass

from corral.extract.names.found import FoundValue
from corral.extract.names.words.text import fold

# The confidence of a value by the kind of its source.
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
# Values of the page or the site are less reliable than those of the main entity.
BESIDE_FACTOR = 0.9
_AGREES = 0.6
_CONTRADICTS = 0.93
_MAX_CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class NameCandidate:
    values: tuple[str, ...]
    source: str
    factor: float = 1.0

    @property
    def kind(self) -> str:
        return self.source.partition(":")[0]


def rate_candidates(candidates: Sequence[NameCandidate]) -> tuple[FoundValue, ...]:
    """Return the values of the first candidate. Candidates of other kinds of sources raise or lower its confidence."""
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
    rounded = round(min(_MAX_CONFIDENCE, confidence), 2)
    return tuple(FoundValue(value, best.source, rounded) for value in best.values)


def _agree(candidate: NameCandidate, other: NameCandidate) -> bool:
    own_text, other_text = fold(" ".join(candidate.values)), fold(" ".join(other.values))
    if not own_text or not other_text:
        return False
    shorter, longer = sorted((own_text, other_text), key=len)
    return shorter in longer if len(shorter) >= 8 else shorter == longer
