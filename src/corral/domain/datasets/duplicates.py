"""Decide which images are duplicates. The result does not depend on the order of downloads."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from corral.domain.datasets.image import NearPair
from corral.domain.datasets.near import HashIndex

# The difference hash is compared first: small changes flip fewer of its bits. The perceptual hash, which is based on
# frequencies instead of gradients, has to agree roughly; two unrelated images differ in about 32 of its bits.
_SECOND_MORE = 14
# An image of one colour has no structure that a hash could describe.
_MIN_CONTRAST = 3.0


class HashedImage(NamedTuple):
    """The properties of a valid image that identify duplicates."""

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
    """Return the near pairs of the new images, among each other and with known ones, and the number of comparisons."""
    index, candidates = HashIndex(distance), []
    for image in known:
        if image.is_hashed:
            index.add(image.dhash or 0)
            candidates.append(image)
    pairs = []
    for image in new:
        if not image.is_hashed:
            continue
        value = image.dhash or 0
        for number, far in index.find(value):
            other = candidates[number]
            second = (other.phash ^ image.phash).bit_count()
            if other.sha256 != image.sha256 and second <= distance + _SECOND_MORE:
                first, last = sorted((other.key, image.key))
                pairs.append(NearPair(first, last, far))
        index.add(value)
        candidates.append(image)
    return pairs, index.compared


def choose_duplicates(candidates: Sequence[HashedImage], pairs: Iterable[NearPair] = ()) -> list[Duplicate]:
    """Return the duplicates: all images of each group except one.

    Of images with the same bytes, the one with the lowest key stays. Near duplicates are visited by size, the largest
    first: an image is a duplicate if it is close to one that stays.
    """
    first_of: dict[str, HashedImage] = {}
    for image in sorted(candidates, key=lambda image: image.key):
        first_of.setdefault(image.sha256, image)
    sha_of = {image.key: image.sha256 for image in candidates}
    near: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for pair in pairs:
        if pair.first in sha_of and pair.second in sha_of:
            first, second = first_of[sha_of[pair.first]].key, first_of[sha_of[pair.second]].key
            near[first].append((pair.distance, second))
            near[second].append((pair.distance, first))
    order = sorted(first_of.values(), key=lambda image: (-image.pixels, image.key))
    chosen: set[str] = set()
    of: dict[str, tuple[int, str]] = {}
    for image in order:
        closest = min((pair for pair in near[image.key] if pair[1] in chosen), default=None)
        if closest is None:
            chosen.add(image.key)
        else:
            of[image.key] = closest
    found = []
    for image in sorted(candidates, key=lambda image: image.key):
        first = first_of[image.sha256].key
        if first != image.key:
            far, root = of.get(first, (0, first))
            found.append(Duplicate(image.key, root, far, "exact" if root == first else "near"))
        elif image.key in of:
            far, root = of[image.key]
            found.append(Duplicate(image.key, root, far, "near"))
    return found
