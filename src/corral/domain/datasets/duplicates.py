"""Decides which images are duplicates. The result does not depend on the order of downloads."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corral.domain.datasets.image import NearPair
from corral.domain.datasets.near import HashIndex

# The difference hash is compared first: small changes move fewer of its bits. The perceptual hash, which sees
# frequencies instead of gradients, has to agree roughly; two unrelated images differ in 32 of its bits.
_SECOND_MORE = 14
# An image of one colour has no structure that a hash could describe.
_MIN_CONTRAST = 3.0


class HashedImage(NamedTuple):
    """A valid image, as far as duplicates are concerned."""

    key: str
    sha256: str
    pixels: int
    dhash: int | None = None
    phash: int = 0
    contrast: float = 0.0

    @property
    def is_hashed(self) -> bool:
        return self.dhash is not None and self.contrast >= _MIN_CONTRAST


class Duplicate(NamedTuple):
    key: str
    of: str
    distance: int
    reason: str  # exact or near


def find_pairs(known: Iterable[HashedImage], new: Sequence[HashedImage], distance: int) -> tuple[list[NearPair], int]:
    """Return the near pairs of the new images, among each other and with known ones, and the comparisons it took."""
    index, candidates = HashIndex(distance), []
    for each in known:
        if each.is_hashed:
            index.add(each.dhash or 0)
            candidates.append(each)
    pairs = []
    for each in new:
        if not each.is_hashed:
            continue
        value = each.dhash or 0
        for number, far in index.find(value):
            other = candidates[number]
            second = (other.phash ^ each.phash).bit_count()
            if other.sha256 != each.sha256 and second <= distance + _SECOND_MORE:
                first, last = sorted((other.key, each.key))
                pairs.append(NearPair(first, last, far))
        index.add(value)
        candidates.append(each)
    return pairs, index.compared


def choose_duplicates(candidates: Sequence[HashedImage], pairs: Iterable[NearPair] = ()) -> list[Duplicate]:
    """Keep one image of each group.

    Of images with the same bytes the one with the lowest key is kept. Near duplicates are taken by size, the largest
    first: an image is left out if it is close to one that is kept.
    """
    kept_of: dict[str, HashedImage] = {}
    for each in sorted(candidates, key=lambda each: each.key):
        kept_of.setdefault(each.sha256, each)
    sha_of = {each.key: each.sha256 for each in candidates}
    near: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for pair in pairs:
        if pair.first in sha_of and pair.second in sha_of:
            first, second = kept_of[sha_of[pair.first]].key, kept_of[sha_of[pair.second]].key
            near[first].append((pair.distance, second))
            near[second].append((pair.distance, first))
    order = sorted(kept_of.values(), key=lambda each: (-each.pixels, each.key))
    kept: set[str] = set()
    of: dict[str, tuple[int, str]] = {}
    for each in order:
        closest = min((pair for pair in near[each.key] if pair[1] in kept), default=None)
        if closest is None:
            kept.add(each.key)
        else:
            of[each.key] = closest
    found = []
    for each in sorted(candidates, key=lambda each: each.key):
        first = kept_of[each.sha256].key
        if first != each.key:
            far, root = of.get(first, (0, first))
            found.append(Duplicate(each.key, root, far, "exact" if root == first else "near"))
        elif each.key in of:
            far, root = of[each.key]
            found.append(Duplicate(each.key, root, far, "near"))
    return found
