import pytest

from corral.domain.score import score_of

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


def test_a_page_that_names_everything_does_not_win_for_ever() -> None:
    many = [f"word{number}" for number in range(20)]
    assert score_of(f"{HOME}/{'-'.join(many)}", 1, many) == score_of(f"{HOME}/word1-word2-word3", 1, many)
