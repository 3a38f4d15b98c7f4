"""An index of 64-bit hashes that finds those within a distance without comparing all pairs.

A hash is cut into four parts of 16 bits. Two hashes that differ in at most `d` bits differ in at most `d // 4` bits in
one of the parts. It is therefore enough to look up the parts of a hash with up to that many bits changed.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations

PARTS = 4
_PART_BITS = 16
_PART_MASK = (1 << _PART_BITS) - 1


class HashIndex:
    def __init__(self, distance: int) -> None:
        self._distance = distance
        self._masks = tuple(_changes(distance // PARTS))
        self._buckets: tuple[dict[int, list[int]], ...] = tuple({} for _ in range(PARTS))
        self._hashes: list[int] = []
        self.compared = 0  # number of candidates compared, for measurements

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, value: int) -> int:
        """Add a hash; return its number."""
        number = len(self._hashes)
        self._hashes.append(value)
        for index, bucket in enumerate(self._buckets):
            bucket.setdefault(value >> (index * _PART_BITS) & _PART_MASK, []).append(number)
        return number

    def find(self, value: int) -> list[tuple[int, int]]:
        """Return number and distance of every added hash within the distance, by number."""
        candidates: set[int] = set()
        for index, bucket in enumerate(self._buckets):
            part = value >> (index * _PART_BITS) & _PART_MASK
            if len(bucket) < len(self._masks):
                # With fewer values than masks, comparing all values is cheaper.
                bits = self._distance // PARTS
                hits: Iterable[list[int]] = (
                    numbers for other, numbers in bucket.items() if (other ^ part).bit_count() <= bits
                )
            else:
                hits = (bucket[part ^ mask] for mask in self._masks if part ^ mask in bucket)
            for numbers in hits:
                candidates.update(numbers)
        self.compared += len(candidates)
        hashes, max_distance = self._hashes, self._distance
        found = [(number, (hashes[number] ^ value).bit_count()) for number in candidates]
        return sorted((number, far) for number, far in found if far <= max_distance)


def _changes(bits: int) -> Iterator[int]:
    for count in range(bits + 1):
        for positions in combinations(range(_PART_BITS), count):
            yield sum(1 << position for position in positions)
