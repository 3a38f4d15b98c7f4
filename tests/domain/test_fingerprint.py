import random
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from corral.domain.fingerprint import fingerprint, is_near

_WORDS = ["".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=6)) for number in range(5_000)]


def text(seed: int, words: int = 300) -> list[str]:
    return random.Random(seed).sample(_WORDS, words)


def test_texts_that_differ_in_a_number_are_near() -> None:
    words = text(1, 600)
    prints = [fingerprint(" ".join([*words, f"Room {number}"])) for number in range(50)]

    assert all(is_near(prints[0], each) for each in prints)


def test_the_order_of_words_is_nothing_new() -> None:
    words = text(1)
    assert fingerprint(" ".join(words)) == fingerprint("  ".join(sorted(words)).upper())


def test_different_texts_are_far_apart() -> None:
    prints = [fingerprint(" ".join(text(seed))) for seed in range(100)]
    assert not any(is_near(first, second) for first in prints for second in prints if first is not second)


def test_pages_of_a_shop_that_share_most_words_are_nearly_all_different() -> None:
    shared = text(1, 200)
    prints = [fingerprint(" ".join(shared + text(seed + 2, 30))) for seed in range(60)]
    near = sum(is_near(first, second) for first in prints for second in prints if first is not second)

    assert near < 0.05 * 60 * 59


def test_short_texts_that_differ_are_different() -> None:
    assert not is_near(fingerprint("Chapter one"), fingerprint("Chapter two"))


@given(st.text())
def test_every_text_has_64_bits(words: str) -> None:
    assert 0 <= fingerprint(words) < 2**64
    assert is_near(fingerprint(words), fingerprint(words + " "))


def test_very_long_texts_are_read_in_part() -> None:
    assert 0 < fingerprint(" ".join(str(number) for number in range(1_000_000))) < 2**64
    assert fingerprint("") == 0


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    """Python's own hash is not."""
    code = "from corral.domain.fingerprint import fingerprint; print(fingerprint('one two three'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)

    assert int(told.stdout) == fingerprint("one two three")
