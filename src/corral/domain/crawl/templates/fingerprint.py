"""Fingerprints of texts: texts that differ in few words have fingerprints that differ in few bits.

A fingerprint is a simhash of a sample of the distinct words of a text; the sampling prefers the same words in every
text. The order of words does not count, so a list that is only sorted differently is nothing new. All 64 counters of a
word are packed into one large integer, so that adding a word is one addition; a loop over the bits in Python would take
thirty times as long.
"""

import hashlib
import re
import struct
from bisect import bisect_left
from collections.abc import Collection, Sequence
from zlib import crc32

NEAR_BITS = 3  # differences in about one word in a hundred
_MAX_CHARS = 4_000  # enough text to identify the subject of a page
_MAX_REMEMBERED = 20_000
_SAMPLED = 64
_PRINTED = 160
_FEW_NUMBERS = 0.8  # share of the words that are not numbers
_MANY_NUMBERS = 8
NUMBERS_FROM = 1 << 32
_DIGIT = re.compile("[0-9]")
_PART = re.compile(r"[^\W_]+")
_PUNCTUATION = ".,:;!?()[]\"'/#"
_MEMORY_BYTES = 128 * 1024
_MEMORY_PRINTS = 50_000
_WORDS_BYTES = 16 * 1024
_WORDS_BITS = 8 * _WORDS_BYTES - 1
_MAX_WORDS = 20_000
_SPREADING = 2_654_435_761
_LANES = struct.Struct(">64H")
_ONES = int.from_bytes(_LANES.pack(*[1] * 64), "big")
_FIRST_BIT = 1 << 15
_FIRST_BITS = b"0" * 128 + b"1" * 128
# The eight bits of a byte as eight counters.
_SPREAD = [struct.pack(">8H", *(byte >> shift & 1 for shift in range(7, -1, -1))) for byte in range(256)]


class WordCounters(dict[int, int]):
    """Maps the hash of a word to its 64 bits as 64 counters. A cache: the samples of a site share their words.

    A process that reads many pages has one and passes it to each `sketch`.
    """

    def __missing__(self, word: int) -> int:
        digest = hashlib.blake2b(word.to_bytes(8, "big"), digest_size=8).digest()
        counters = int.from_bytes(b"".join([_SPREAD[byte] for byte in digest]), "big")
        if len(self) >= _MAX_REMEMBERED:
            self.clear()
        self[word] = counters
        return counters


def sketch(
    text: str, without: Collection[str] = (), counters: WordCounters | None = None
) -> tuple[int, tuple[int, ...]]:
    """Return the fingerprint of a text and a sample of its words, for little more than the cost of one of the two.

    Words in `without` (lower case) do not count: a page that repeats its own URL adds no content.
    """
    named, numbers = _hashes(text, without)
    return _print(named, numbers, counters), _sample(named, numbers)


def fingerprint(text: str, counters: WordCounters | None = None) -> int:
    """Return 64 bits, the same in every process and on every machine; 0 for a text without words.

    Numbers count only if there are many: `Page 18: no results` is nothing new, but the table of another day is.
    """
    return _print(*_hashes(text), counters)


def _sample(named: list[int], numbers: list[int]) -> tuple[int, ...]:
    """Return the smallest hashes: a sample of words whose selection does not depend on the text.

    Two texts made of the same words have the same few words as samples, which reveals pages without new content. The
    sample of a short text is every word. Numbers follow the words, from `NUMBERS_FROM` on, if there are many.
    """
    return (*named[:_SAMPLED], *numbers[:_SAMPLED])


def _print(named: list[int], numbers: list[int], counters: WordCounters | None) -> int:
    """Return the fingerprint of a larger sample, which a single word hardly changes."""
    cache = WordCounters() if counters is None else counters
    sample = named[:_PRINTED] + numbers[:_PRINTED]
    total = sum(map(cache.__getitem__, sample))
    # Add an offset so that the first bit of each counter tells whether it exceeds half.
    total += (_FIRST_BIT - 1 - len(sample) // 2) * _ONES
    return int(total.to_bytes(_LANES.size, "big")[::2].translate(_FIRST_BITS), 2)


def _hashes(text: str, without: Collection[str] = ()) -> tuple[list[int], list[int]]:
    """Return the sorted hashes of the words, and those of the numbers if there are many.

    Not cached: a lookup among many words takes longer than hashing.
    """
    words = set(text[:_MAX_CHARS].lower().split())
    if without:
        words = {
            word
            for word in words
            if (bare := word.strip(_PUNCTUATION)) not in without and (bare.isalnum() or not _consists_of(bare, without))
        }
    hashes = sorted(
        {
            crc32(word.encode("utf-8", "replace")) + (NUMBERS_FROM if not word.isalpha() and _DIGIT.search(word) else 0)
            for word in words
        }
    )
    named = bisect_left(hashes, NUMBERS_FROM)
    return hashes[:named], hashes[named:] if _are_many(len(hashes) - named, len(hashes)) else []


def _consists_of(word: str, parts: Collection[str]) -> bool:
    """True for one of the parts, and for several with punctuation between them: `2026-11-05`, `day/5`."""
    if word in parts or word.isalnum():
        return word in parts
    return all(part in parts for part in _PART.findall(word))


def _are_many(numbers: int, words: int) -> bool:
    """True for more numbers than a date has."""
    return numbers >= _MANY_NUMBERS and numbers > (1 - _FEW_NUMBERS) * words


def is_near(first: int, second: int) -> bool:
    return (first ^ second).bit_count() <= NEAR_BITS


class PrintMemory:
    """A Bloom filter of 64-bit numbers in a quarter of a megabyte.

    It remembers at least the last 50,000 to 100,000 numbers; it mistakes about one new number in a hundred for a known
    one.
    """

    def __init__(self, bytes_: int = _MEMORY_BYTES, capacity: int = _MEMORY_PRINTS) -> None:
        self._bytes, self._capacity = bytes_, capacity
        self._bits = 8 * bytes_ - 1  # odd, so that all bits of a number count
        self._now, self._before = bytearray(bytes_), bytearray(bytes_)
        self._count = 0

    def has(self, print_: int) -> bool:
        """Return whether the number was added before, and add it."""
        first, second = print_ % self._bits, (print_ >> 32) % self._bits
        if _are_set(self._now, first, second) or _are_set(self._before, first, second):
            return True
        if self._count >= self._capacity:
            self._now, self._before, self._count = bytearray(self._bytes), self._now, 0
        for bit in (first, second):
            self._now[bit >> 3] |= 1 << (bit & 7)
        self._count += 1
        return False


def _are_set(bits: bytearray, first: int, second: int) -> bool:
    return bool(bits[first >> 3] & 1 << (first & 7) and bits[second >> 3] & 1 << (second & 7))


class WordMemory:
    """A Bloom filter of words in 32 kB. It remembers at least the last 20,000 to 40,000.

    It mistakes few new words for known ones.
    """

    def __init__(self) -> None:
        self._now, self._before = bytearray(_WORDS_BYTES), bytearray(_WORDS_BYTES)
        self._count = 0

    def add(self, words: Sequence[int]) -> list[int]:
        """Return the words that were not added before, and add them."""
        unseen = []
        now, before = self._now, self._before
        for word in words:
            # Written out: this runs for each word of each page of a crawl.
            first, second = word % _WORDS_BITS, word * _SPREADING % _WORDS_BITS
            at, bit, other_at, other_bit = first >> 3, 1 << (first & 7), second >> 3, 1 << (second & 7)
            if (now[at] & bit and now[other_at] & other_bit) or (before[at] & bit and before[other_at] & other_bit):
                continue
            unseen.append(word)
            now[at] |= bit
            now[other_at] |= other_bit
        self._count += len(unseen)
        if self._count >= _MAX_WORDS:
            self._now, self._before, self._count = bytearray(_WORDS_BYTES), self._now, 0
        return unseen
