"""A number that says what a text is about: texts that differ in a few words of many have numbers that differ in a few
bits.

It is a simhash over the different words of a text. Their order does not count, so the same list sorted another way is
nothing new. All 64 counters of a word stand side by side in one large number, so that adding up words is one addition
each; Python's own loop over the bits would take thirty times as long.
"""

import hashlib
import heapq
import struct
import zlib

NEAR_BITS = 3  # about one word in a hundred
_MAX_CHARS = 10_000  # what a page is about is said by then
_MAX_WORDS = 4_000  # fewer than a counter of 16 bits can hold
_MAX_REMEMBERED = 20_000
_LONGEST_REMEMBERED = 40  # characters; a page made of longer words would fill the memory
_SAMPLED = 16
_FEW_NUMBERS = 0.8  # of the words are none
_NUMBERS_AT = 64 * 16
_ONE_NUMBER = 1 << _NUMBERS_AT
_LANES = struct.Struct(">64H")
# The eight bits of a byte as eight counters.
_SPREAD = [struct.pack(">8H", *(byte >> place & 1 for place in range(7, -1, -1))) for byte in range(256)]


class _Counters(dict[str, int]):
    """By word, its 64 bits as 64 counters; kept, for the words of a site are the same on all of its pages.

    Numbers have a counter of their own above those, and no bits: how many there are decides what becomes of them.
    """

    def __missing__(self, word: str) -> int:
        counters = _ONE_NUMBER if word[0].isdigit() else _counters(word)
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MAX_REMEMBERED:
                self.clear()
            self[word] = counters
        return counters


def _counters(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(b"".join([_SPREAD[byte] for byte in digest]), "big")


_COUNTERS = _Counters()


def fingerprint(text: str) -> int:
    """64 bits; the same in every process and on every machine. A text without words has 0.

    Numbers count only where there are many: `Page 18: no results` is nothing new, the table of another day is.
    """
    words = _words(text)
    total = sum(map(_COUNTERS.__getitem__, words))
    named = len(words) - (total >> _NUMBERS_AT)
    if named >= _FEW_NUMBERS * len(words):
        total &= _ONE_NUMBER - 1
    else:
        total, named = sum(map(_counters, words)), len(words)
    half = named // 2
    value = 0
    for count in _LANES.unpack(total.to_bytes(_LANES.size, "big")):
        value = value << 1 | (count > half)
    return value


def rare_words(text: str) -> tuple[int, ...]:
    """A sample of a text's words that does not depend on the text: those with the smallest numbers, as numbers.

    Two texts from the same words have samples from the same few words, so that it shows when nothing new comes.
    """
    words = _words(text)
    named = [word for word in words if not word[0].isdigit()]
    chosen = named if len(named) >= _FEW_NUMBERS * len(words) else words
    return tuple(heapq.nsmallest(_SAMPLED, {zlib.crc32(word.encode("utf-8", "replace")) for word in chosen}))


def _words(text: str) -> list[str]:
    """Each once, in small letters."""
    return list(dict.fromkeys(text[:_MAX_CHARS].lower().split()))[:_MAX_WORDS]


def is_near(first: int, second: int) -> bool:
    return (first ^ second).bit_count() <= NEAR_BITS
