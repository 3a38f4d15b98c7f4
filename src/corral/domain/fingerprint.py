"""A number that says what a text is about: texts that differ in a few words of many have numbers that differ in a few
bits.

It is a simhash over the different words of a text. Their order does not count, so the same list sorted another way is
nothing new. All 64 counters of a word stand side by side in one large number, so that adding up words is one addition
each; Python's own loop over the bits would take thirty times as long.
"""

import hashlib
import re
import struct
import zlib
from bisect import bisect_left
from collections.abc import Collection

NEAR_BITS = 3  # about one word in a hundred
_MAX_CHARS = 6_000  # what a page is about is said by then
_MAX_REMEMBERED = 20_000
_LONGEST_REMEMBERED = 40  # characters; a page made of longer words would fill the memory
_SAMPLED = 64
_FEW_NUMBERS = 0.8  # of the words are none
_MANY_NUMBERS = 8
NUMBERS_FROM = 1 << 32
_DIGIT = re.compile("[0-9]")
_NUMBERS_AT = 64 * 16
_ONE_NUMBER = 1 << _NUMBERS_AT
_MEMORY_BYTES = 128 * 1024
_MEMORY_BITS = 8 * _MEMORY_BYTES - 1  # odd, so that all bits of a number count
_MEMORY_PRINTS = 50_000
_LANES = struct.Struct(">64H")
# The eight bits of a byte as eight counters.
_SPREAD = [struct.pack(">8H", *(byte >> place & 1 for place in range(7, -1, -1))) for byte in range(256)]


class _Counters(dict[str, int]):
    """By word, its 64 bits as 64 counters; kept, for the words of a site are the same on all of its pages.

    Numbers have a counter of their own above those, and no bits: how many there are decides what becomes of them.
    """

    def __missing__(self, word: str) -> int:
        counters = _ONE_NUMBER if _DIGIT.search(word) else _counters(word)
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MAX_REMEMBERED:
                self.clear()
            self[word] = counters
        return counters


def _counters(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(b"".join([_SPREAD[byte] for byte in digest]), "big")


class _Hashes(dict[str, int]):
    """By word, a number that is the same everywhere; those of numbers are the larger ones."""

    def __missing__(self, word: str) -> int:
        value = zlib.crc32(word.encode("utf-8", "replace"))
        if _DIGIT.search(word):
            value += NUMBERS_FROM
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MAX_REMEMBERED:
                self.clear()
            self[word] = value
        return value


_COUNTERS = _Counters()
_HASHES = _Hashes()


def sketch(text: str) -> tuple[int, tuple[int, ...]]:
    """The fingerprint of a text and its `rare_words`, for little more than the price of one of them."""
    words = _words(text)
    return _print(words), _sample(words)


def fingerprint(text: str) -> int:
    """64 bits; the same in every process and on every machine. A text without words has 0.

    Numbers count only where there are many: `Page 18: no results` is nothing new, the table of another day is.
    """
    return _print(_words(text))


def _print(words: Collection[str]) -> int:
    total = sum(map(_COUNTERS.__getitem__, words))
    numbers = total >> _NUMBERS_AT
    named = len(words) - numbers
    total &= _ONE_NUMBER - 1
    if _are_many(numbers, len(words)):
        total, named = total + sum(map(_counters, filter(_DIGIT.search, words))), len(words)
    half = named // 2
    value = 0
    for count in _LANES.unpack(total.to_bytes(_LANES.size, "big")):
        value = value << 1 | (count > half)
    return value


def rare_words(text: str) -> tuple[int, ...]:
    """A sample of a text's words that does not depend on the text: those with the smallest numbers, as numbers.

    Two texts from the same words have samples from the same few words, so that it shows when nothing new comes. Of
    a short text it is every word. What is a number itself is not among them, but where there are many, they follow;
    `is_number` tells them.
    """
    return _sample(_words(text))


def _sample(words: Collection[str]) -> tuple[int, ...]:
    hashes = sorted(map(_HASHES.__getitem__, words))
    named = bisect_left(hashes, NUMBERS_FROM)
    sample = hashes[: min(named, _SAMPLED)]
    if _are_many(len(hashes) - named, len(hashes)):
        sample += hashes[named : named + _SAMPLED]
    return tuple(sample)


def _are_many(numbers: int, words: int) -> bool:
    """A year and a month are not, whatever stands beside them."""
    return numbers >= _MANY_NUMBERS and numbers > (1 - _FEW_NUMBERS) * words


def _words(text: str) -> set[str]:
    """In small letters. No more than fit into so many characters, which is fewer than a counter of 16 bits can hold."""
    return set(text[:_MAX_CHARS].lower().split())


def is_near(first: int, second: int) -> bool:
    return (first ^ second).bit_count() <= NEAR_BITS


class PrintMemory:
    """Which numbers have been there before, in a quarter of a megabyte: of the last 50,000 to 100,000 for certain.

    About one in a hundred that has not been there is taken for one that has.
    """

    def __init__(self) -> None:
        self._now, self._before = bytearray(_MEMORY_BYTES), bytearray(_MEMORY_BYTES)
        self._count = 0

    def has(self, print_: int) -> bool:
        """Whether it was there before; from now on it was."""
        first, second = print_ % _MEMORY_BITS, (print_ >> 32) % _MEMORY_BITS
        if any(_is_set(kept, first) and _is_set(kept, second) for kept in (self._now, self._before)):
            return True
        if self._count >= _MEMORY_PRINTS:
            self._now, self._before, self._count = bytearray(_MEMORY_BYTES), self._now, 0
        for bit in (first, second):
            self._now[bit >> 3] |= 1 << (bit & 7)
        self._count += 1
        return False


def _is_set(bits: bytearray, bit: int) -> bool:
    return bool(bits[bit >> 3] & 1 << (bit & 7))
