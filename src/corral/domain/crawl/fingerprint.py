"""A number that says what a text is about: texts that differ in a few words of many have numbers that differ in a few
bits.

It is a simhash over a sample of the different words of a text: always the same words, where a text has them. Their
order does not count, so the same list sorted another way is nothing new. All 64 counters of a word stand side by side
in one large number, so that adding up words is one addition each; Python's own loop over the bits would take thirty
times as long.
"""

import hashlib
import re
import struct
from bisect import bisect_left
from collections.abc import Collection, Sequence
from zlib import crc32

NEAR_BITS = 3  # about one word in a hundred
_MAX_CHARS = 4_000  # what a page is about is said by then
_MAX_REMEMBERED = 20_000
_SAMPLED = 64
_PRINTED = 160
_FEW_NUMBERS = 0.8  # of the words are none
_MANY_NUMBERS = 8
NUMBERS_FROM = 1 << 32
_DIGIT = re.compile("[0-9]")
_PUNCTUATION = ".,:;!?()[]\"'/#"
_MEMORY_BYTES = 128 * 1024
_MEMORY_PRINTS = 50_000
_WORDS_BYTES = 16 * 1024
_WORDS_BITS = 8 * _WORDS_BYTES - 1
_WORDS_KEPT = 20_000
_SPREADING = 2_654_435_761
_LANES = struct.Struct(">64H")
_ONES = int.from_bytes(_LANES.pack(*[1] * 64), "big")
_FIRST_BIT = 1 << 15
_FIRST_BITS = b"0" * 128 + b"1" * 128
# The eight bits of a byte as eight counters.
_SPREAD = [struct.pack(">8H", *(byte >> place & 1 for place in range(7, -1, -1))) for byte in range(256)]


class WordCounters(dict[int, int]):
    """By the number of a word, 64 bits of it as 64 counters; kept, for the samples of a site share their words.

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
    """The fingerprint of a text and a sample of its words, for little more than the price of one of them.

    Words in `without` (in small letters) do not count: a page that repeats its address says nothing by that.
    """
    named, numbers = _hashes(text, without)
    return _print(named, numbers, counters), _sample(named, numbers)


def fingerprint(text: str, counters: WordCounters | None = None) -> int:
    """64 bits; the same in every process and on every machine. A text without words has 0.

    Numbers count only where there are many: `Page 18: no results` is nothing new, the table of another day is.
    """
    return _print(*_hashes(text), counters)


def _sample(named: list[int], numbers: list[int]) -> tuple[int, ...]:
    """The words with the smallest hashes, as hashes: a sample that does not depend on the text.

    Two texts made of the same words have samples of the same few words, which shows when nothing new comes. The sample
    of a short text is every word. Numbers come after the words, from `NUMBERS_FROM` on, where there are many.
    """
    return (*named[:_SAMPLED], *numbers[:_SAMPLED])


def _print(named: list[int], numbers: list[int], counters: WordCounters | None) -> int:
    """Of a larger sample: a word more or less should not make another text of it."""
    known = WordCounters() if counters is None else counters
    sample = named[:_PRINTED] + numbers[:_PRINTED]
    total = sum(map(known.__getitem__, sample))
    # Raised so that the first bit of a counter says whether it is more than half.
    total += (_FIRST_BIT - 1 - len(sample) // 2) * _ONES
    return int(total.to_bytes(_LANES.size, "big")[::2].translate(_FIRST_BITS), 2)


def _hashes(text: str, without: Collection[str] = ()) -> tuple[list[int], list[int]]:
    """A number for each word, the smallest first; and for those that are numbers themselves, where there are many.

    Not remembered: to look a word up among many takes longer than to work its number out.
    """
    words = set(text[:_MAX_CHARS].split())
    if without:
        words = {word for word in words if word.lower().strip(_PUNCTUATION) not in without}
    # In small letters, but only once for each word: there are far more words in a text than different ones.
    hashes = sorted(
        {
            crc32(word.lower().encode("utf-8", "replace"))
            + (NUMBERS_FROM if not word.isalpha() and _DIGIT.search(word) else 0)
            for word in words
        }
    )
    named = bisect_left(hashes, NUMBERS_FROM)
    return hashes[:named], hashes[named:] if _are_many(len(hashes) - named, len(hashes)) else []


def _are_many(numbers: int, words: int) -> bool:
    """A year and a month are not, whatever stands beside them."""
    return numbers >= _MANY_NUMBERS and numbers > (1 - _FEW_NUMBERS) * words


def is_near(first: int, second: int) -> bool:
    return (first ^ second).bit_count() <= NEAR_BITS


class PrintMemory:
    """Which numbers of 64 bits have been there before, in a quarter of a megabyte: of the last 50,000 to 100,000 for
    certain. About one in a hundred that has not been there is taken for one that has.
    """

    def __init__(self, bytes_: int = _MEMORY_BYTES, most: int = _MEMORY_PRINTS) -> None:
        self._bytes, self._most = bytes_, most
        self._bits = 8 * bytes_ - 1  # odd, so that all bits of a number count
        self._now, self._before = bytearray(bytes_), bytearray(bytes_)
        self._count = 0

    def has(self, print_: int) -> bool:
        """Whether it was there before; from now on it was."""
        first, second = print_ % self._bits, (print_ >> 32) % self._bits
        if any(_is_set(kept, first) and _is_set(kept, second) for kept in (self._now, self._before)):
            return True
        if self._count >= self._most:
            self._now, self._before, self._count = bytearray(self._bytes), self._now, 0
        for bit in (first, second):
            self._now[bit >> 3] |= 1 << (bit & 7)
        self._count += 1
        return False


class WordMemory:
    """Which words have been there before, in 32 kB: of the last 20,000 to 40,000 for certain.

    Few of those that have not been there are taken for some that have.
    """

    def __init__(self) -> None:
        self._now, self._before = bytearray(_WORDS_BYTES), bytearray(_WORDS_BYTES)
        self._count = 0

    def add(self, words: Sequence[int]) -> list[int]:
        """The words that have not been there before; from now on they have."""
        unseen = []
        for word in words:
            first, second = word % _WORDS_BITS, word * _SPREADING % _WORDS_BITS
            if any(_is_set(kept, first) and _is_set(kept, second) for kept in (self._now, self._before)):
                continue
            unseen.append(word)
            for bit in (first, second):
                self._now[bit >> 3] |= 1 << (bit & 7)
        self._count += len(unseen)
        if self._count >= _WORDS_KEPT:
            self._now, self._before, self._count = bytearray(_WORDS_BYTES), self._now, 0
        return unseen


def _is_set(bits: bytearray, bit: int) -> bool:
    return bool(bits[bit >> 3] & 1 << (bit & 7))
