from datetime import date

import pytest

from corral.domain.crawl.score import age_in_days, score_of

HOME = "http://a.test"


@pytest.mark.parametrize(
    "better, worse",
    [
        ((f"{HOME}/a", 1), (f"{HOME}/a", 2)),
        ((f"{HOME}/prices", 3), (f"{HOME}/a", 1)),
        ((f"{HOME}/a", 2, "our Prices"), (f"{HOME}/a", 2, "our shop")),
        ((f"{HOME}/a", 1), (f"{HOME}/a?page=2", 1)),
        ((f"{HOME}/a/b", 1), (f"{HOME}/a/b/c/d/e", 1)),
        ((f"{HOME}/a", 1, "", 0.9), (f"{HOME}/a", 1, "", 0.1)),
    ],
)
def test_what_is_better_has_the_higher_score(better: tuple[str, int], worse: tuple[str, int]) -> None:
    def score(url: str, depth: int, text: str = "", priority: float | None = None) -> float:
        return score_of(url, depth, ("prices", "costs"), text, priority)

    assert score(*better) > score(*worse)


def test_what_changed_lately_comes_before_what_did_not() -> None:
    today = date(2026, 11, 16)
    said = ["2026-11-15", "2026-11-01T10:00:00+01:00", "2026-01-01", None]
    scores = [score_of(f"{HOME}/a", 1, (), age_days=age_in_days(each, today)) for each in said]
    assert scores[0] > scores[1] > scores[2] == scores[3]


@pytest.mark.parametrize("lastmod", ["", "yesterday", "2026", "2026-13-01", "2027-01-01", "2026-11"])
def test_what_is_no_day_says_nothing(lastmod: str) -> None:
    assert age_in_days(lastmod, date(2026, 11, 16)) is None


def test_a_page_that_names_everything_does_not_win_for_ever() -> None:
    many = [f"word{number}" for number in range(20)]
    assert score_of(f"{HOME}/{'-'.join(many)}", 1, many) == score_of(f"{HOME}/word1-word2-word3", 1, many)
