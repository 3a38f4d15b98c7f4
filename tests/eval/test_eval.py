"""The recorded pages: the figures do not fall below the aims of `make eval`."""

import pytest

from eval.__main__ import MIN_PRECISION, MIN_RECALL, main
from eval.pages import GROUPS, load_pages
from eval.score import count, judge_pages


@pytest.mark.parametrize("group", GROUPS)
def test_bare_names_reach_the_aims(group: str) -> None:
    figures = count(judge_pages(load_pages((group,))))
    assert figures.precision >= MIN_PRECISION
    assert figures.recall >= MIN_RECALL


def test_the_pages_are_many_and_of_many_kinds_and_languages() -> None:
    pages = list(load_pages())
    assert len(pages) >= 80
    assert len({page.kind for page in pages}) >= 10
    assert len({str(page.expected.get("language", ""))[:2] for page in pages}) >= 9
    assert all(page.absent for page in pages)


def test_the_command_prints_figures_by_group_kind_and_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--misses", "0"]) == 0
    out = capsys.readouterr().out
    assert "precision" in out
    assert all(word in out for word in ("held_out", "recipe", "currency", "misses"))
