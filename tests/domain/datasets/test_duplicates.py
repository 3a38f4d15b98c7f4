"""Duplicates: found by an index instead of all pairs, and independent of the order."""

import random

import pytest

from corral.domain.datasets.duplicates import HashedImage, choose_duplicates, find_pairs
from corral.domain.datasets.near import HashIndex

DICE = random.Random(7)


def flip(value: int, bits: int) -> int:
    for place in DICE.sample(range(64), bits):
        value ^= 1 << place
    return value


def candidate(key: str, dhash: int, pixels: int = 100, sha: str = "", contrast: float = 50.0) -> HashedImage:
    return HashedImage(key, sha or f"sha-{key}", pixels, dhash, 0, contrast)


@pytest.mark.parametrize("distance", [0, 3, 6, 11])
def test_the_index_finds_exactly_what_comparing_all_pairs_finds(distance: int) -> None:
    values = [DICE.getrandbits(64) for _ in range(150)]
    values += [flip(value, DICE.randrange(14)) for value in values]
    index = HashIndex(distance)
    for value in values:
        index.add(value)
    for value in values[::7]:
        expected = [(n, (v ^ value).bit_count()) for n, v in enumerate(values) if (v ^ value).bit_count() <= distance]
        assert index.find(value) == expected


def test_new_images_are_compared_with_few_of_the_known_ones() -> None:
    known = [candidate(f"k{number}", DICE.getrandbits(64)) for number in range(20_000)]
    new = [candidate(f"n{number}", flip(known[number].dhash or 0, 2)) for number in range(50)]
    pairs, compared = find_pairs(known, new, 6)
    assert len(pairs) == 50
    assert compared < 50 * len(known) / 20  # all pairs would be a million


def test_of_equal_bytes_the_lowest_key_is_kept() -> None:
    images = [candidate(key, 0, sha="same") for key in ("c", "a", "b")]
    assert [(each.key, each.of, each.reason) for each in choose_duplicates(images)] == [
        ("b", "a", "exact"),
        ("c", "a", "exact"),
    ]


def test_of_near_duplicates_the_largest_is_kept_and_a_chain_is_cut() -> None:
    base = DICE.getrandbits(64)
    middle = candidate("middle", base, 300)
    left, right = candidate("left", base ^ 0b1111, 200), candidate("right", base ^ 0b11110000, 100)
    images = [right, left, middle]
    pairs, _ = find_pairs([], images, 4)
    found = choose_duplicates(images, pairs)
    assert [(each.key, each.of, each.distance) for each in found] == [("left", "middle", 4), ("right", "middle", 4)]
    # Left and right are not close to each other: without the middle one both are kept.
    assert choose_duplicates([left, right], pairs) == []


def test_the_order_of_arrival_does_not_matter() -> None:
    bases = [DICE.getrandbits(64) for _ in range(30)]
    images = [
        candidate(f"{number}-{copy}", flip(base, copy), 100 + DICE.randrange(50))
        for number, base in enumerate(bases)
        for copy in range(4)
    ]
    whole, _ = find_pairs([], images, 6)
    expected = choose_duplicates(images, whole)
    DICE.shuffle(images)
    first, _ = find_pairs([], images[:60], 6)
    second, _ = find_pairs(images[:60], images[60:], 6)
    assert set(first + second) == set(whole)
    assert choose_duplicates(images, first + second) == expected


def test_images_of_one_colour_are_no_near_duplicates_of_each_other() -> None:
    images = [candidate("a", 0, contrast=0.0), candidate("b", 0, contrast=0.0)]
    assert find_pairs([], images, 6)[0] == []


def test_a_second_hash_has_to_agree() -> None:
    one = HashedImage("a", "1", 100, 5, 0, 50.0)
    assert find_pairs([], [one, HashedImage("b", "2", 100, 5, 2**64 - 1, 50.0)], 6)[0] == []
    assert len(find_pairs([], [one, HashedImage("b", "2", 100, 5, 1, 50.0)], 6)[0]) == 1
