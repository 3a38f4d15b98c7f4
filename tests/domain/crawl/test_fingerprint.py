import random
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from corral.domain.crawl.templates.fingerprint import NUMBERS_FROM, WordCounters, fingerprint, is_near, sketch

_WORDS = ["".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=6)) for number in range(5_000)]


def rare_words(text: str) -> tuple[int, ...]:
    return sketch(text)[1]


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


def test_a_number_alone_is_nothing_new_and_a_table_of_numbers_is() -> None:
    days = [" ".join(f"{chance.random():.4f}" for _ in range(50)) for chance in map(random.Random, range(2))]

    assert fingerprint("Page 17: no results at all") == fingerprint("Page 18: no results at all")
    assert rare_words("Page 17: no results at all") == rare_words("Page 18: no results at all")
    assert not is_near(*(fingerprint(f"Temperature by hour {day}") for day in days))
    month = f"no events {' '.join(map(str, range(1, 32)))}"
    assert rare_words(f"2026: {month}") != rare_words(month) != rare_words("no events")
    assert [word >= NUMBERS_FROM for word in rare_words(f"2026: {month}")] == [False] * 2 + [True] * 32


def test_the_sample_of_a_text_is_small_and_does_not_depend_on_the_text() -> None:
    pool = text(1, 400)
    samples = [rare_words(" ".join(random.Random(seed).sample(pool, 60)))[:16] for seed in range(100)]

    assert len(rare_words(" ".join(pool))) == 64
    assert rare_words(" ".join(pool))[:16] == tuple(sorted(rare_words(" ".join(pool))))[:16]
    first = set().union(*samples[:60])
    assert sum(first.issuperset(sample) for sample in samples[60:]) > 30
    assert not first.issuperset(rare_words(" ".join(_WORDS)))
    assert rare_words("") == ()
    assert sketch("One text 17")[0] == fingerprint("One text 17")


def test_addresses_that_a_page_shows_are_no_content_of_it() -> None:
    own = {"day", "2026", "11", "05", "06"}
    links = " ".join(f"/day/2026-11-{day}" for day in ("05", "06"))
    assert sketch(f"Calendar {links}", own) == sketch("Calendar", own)
    assert sketch("Calendar /day/night", own) != sketch("Calendar", own)


def test_what_is_remembered_of_words_is_bounded() -> None:
    most, counters = 0, WordCounters()
    for start in range(0, 1_000_000, 1_000):
        fingerprint(" ".join(f"w{number}" for number in range(start, start + 1_000)), counters)
        most = max(most, len(counters))
    assert 1_000 < most <= 20_000


@given(st.text())
def test_every_text_has_64_bits(words: str) -> None:
    assert 0 <= fingerprint(words) < 2**64
    assert is_near(fingerprint(words), fingerprint(words + " "))


def test_very_long_texts_are_read_in_part() -> None:
    assert 0 < fingerprint(" ".join(str(number) for number in range(100_000))) < 2**64
    assert fingerprint("") == 0


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    """Python's own hash is not."""
    code = "from corral.domain.crawl.templates.fingerprint import fingerprint; print(fingerprint('one two three'))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)

    assert int(told.stdout) == fingerprint("one two three")
