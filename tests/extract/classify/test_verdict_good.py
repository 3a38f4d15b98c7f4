"""Pages that look like a refusal to whoever only searches for words."""

from dataclasses import replace

import pytest

from corral.extract.classify.page_classifier import ClassifierInput, PageClass, classify_page
from tests.extract.classify.good_pages import ALWAYS, WHEN_FOUND


@pytest.mark.parametrize("missing", [(), ("rating",)], ids=["all found", "one missing"])
@pytest.mark.parametrize("page", [pytest.param(page, id=name) for name, page in ALWAYS.items()])
def test_a_good_page_is_left_alone(page: ClassifierInput, missing: tuple[str, ...]) -> None:
    verdict = classify_page(page, missing)
    assert verdict.kind is PageClass.OK, verdict


@pytest.mark.parametrize("page", [pytest.param(page, id=name) for name, page in {**ALWAYS, **WHEN_FOUND}.items()])
def test_a_good_page_is_left_alone_where_only_its_title_is_asked_for(page: ClassifierInput) -> None:
    verdict = classify_page(replace(page, wants_title_only=True), ())
    assert verdict.kind is PageClass.OK, verdict


@pytest.mark.parametrize("page", [pytest.param(page, id=name) for name, page in WHEN_FOUND.items()])
def test_a_page_with_every_field_is_left_alone(page: ClassifierInput) -> None:
    verdict = classify_page(page, ())
    assert verdict.kind is PageClass.OK, verdict
