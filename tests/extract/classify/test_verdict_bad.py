"""Pages that are not what was asked for, each of the kind it is."""

from dataclasses import replace

import pytest

from corral.extract.classify.page_classifier import ClassifierInput, PageClass, classify_page
from tests.extract.classify.bad_pages import (
    BLOCKS,
    CAPTCHAS,
    CASES,
    LOGIN_WALLS,
    SOFT_404S,
)
from tests.extract.pages.builders import LONG, answer, read_page

PRICE = ("price",)


@pytest.mark.parametrize("kind, page", CASES)
def test_a_bad_page_is_called_by_its_name(kind: PageClass, page: ClassifierInput) -> None:
    verdict = classify_page(page, PRICE)
    assert verdict.kind is kind, verdict
    assert verdict.evidence


@pytest.mark.parametrize("page", [*BLOCKS.values(), *CAPTCHAS.values()][:5] + [*CAPTCHAS.values()][:4])
def test_a_block_page_has_a_title_too(page: ClassifierInput) -> None:
    """Asked for nothing but a title, every field is “found” on it."""
    assert classify_page(page, ()).kind in (PageClass.BLOCK, PageClass.CAPTCHA)


SAID_BY_THE_TITLE = [
    *(pytest.param(PageClass.LOGIN_WALL, page, id=name) for name, page in LOGIN_WALLS.items() if name != "JSON"),
    *(pytest.param(PageClass.SOFT_404, SOFT_404S[name], id=name) for name in ("recorded", "number", "in Russian")),
]


@pytest.mark.parametrize("kind, page", SAID_BY_THE_TITLE)
def test_that_a_page_has_a_title_says_nothing_for_it(kind: PageClass, page: ClassifierInput) -> None:
    """It was taken for content where nothing but the title was asked for."""
    assert classify_page(replace(page, wants_title_only=True), ()).kind is kind


def test_a_redirect_to_a_login_form_is_a_wall_even_if_its_title_was_taken_for_the_field() -> None:
    assert classify_page(LOGIN_WALLS["recorded, redirected"], ()).kind is PageClass.LOGIN_WALL


def test_a_challenge_outweighs_the_text_around_it() -> None:
    page = answer(read_page("challenge").replace("</body>", f"{LONG}</body>"), cf_mitigated="challenge")
    assert classify_page(page, PRICE).kind is PageClass.BLOCK
