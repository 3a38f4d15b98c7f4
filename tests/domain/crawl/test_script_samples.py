"""Which pages are read with their scripts, and what counts as content that scripts added."""

import json
from typing import Any

import pytest

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DiscoveredLink, ItemResult
from corral.domain.crawl.script_samples import Insertion, SampleLimits, ScriptSamples, compare, unite
from corral.domain.crawl.script_signs import ScriptSigns

_NOTHING = Insertion()


def _rows(*names: object) -> Insertion:
    return Insertion(blocks=frozenset(f"a row of text named {name} and more" for name in names))


def _crawl(samples: ScriptSamples, pages: list[str], signature: str = "s", **likely: bool) -> list[str]:
    """Visit one page of each template; scripts add nothing. Return the templates that were sampled."""
    signs, sampled = ScriptSigns(signature, inserts=True), []
    for template in pages:
        if samples.wants(template, signs, is_likely=likely.get("is_likely", False)):
            samples.note(template, signs, _NOTHING)
            sampled.append(template)
    return sampled


def test_a_template_whose_scripts_add_nothing_costs_few_samples() -> None:
    assert len(_crawl(ScriptSamples(), ["a"] * 1_000)) == 5  # the first two, and the 10th, 100th and 1,000th


def test_templates_with_the_same_scripts_share_samples() -> None:
    pages = [f"t{number}" for number in range(1_000)]
    assert len(_crawl(ScriptSamples(), pages)) == 8  # six, and two that are sampled again
    # What is probably built by scripts is always looked at, within the bound of the worker.
    assert len(_crawl(ScriptSamples(), pages[:30], is_likely=True)) == 30
    assert len(_crawl(ScriptSamples(), pages, is_likely=True)) == 40


def test_a_site_where_every_page_has_other_scripts_is_bounded_and_says_so() -> None:
    samples = ScriptSamples()
    sampled = [each for number in range(1_000) for each in _crawl(samples, [f"t{number}"], f"s{number}")]
    assert len(sampled) == 40
    assert samples.is_unchecked("t999")
    assert not samples.is_unchecked("t1")


def test_pages_that_gain_go_on_being_rendered() -> None:
    samples, signs = ScriptSamples(), ScriptSigns("s", inserts=True)
    for number in range(300):
        assert samples.wants("a", signs, is_likely=False)
        assert samples.note("a", signs, _rows(number)).has_more
    assert samples.adds_content("a")


def test_what_scripts_add_to_every_page_is_content_of_the_first_only() -> None:
    samples, signs = ScriptSamples(), ScriptSigns("s", inserts=True)
    banner, rendered = _rows("banner"), 0
    for _ in range(50):
        if samples.wants("a", signs, is_likely=False):
            rendered += 1
            assert samples.note("a", signs, banner).has_more, "a page that was rendered keeps what it has"
    assert rendered == 4


def test_a_later_gain_names_the_pages_that_were_read_without_it() -> None:
    samples, signs = ScriptSamples(), ScriptSigns("s", inserts=True)
    assert len(_crawl(samples, ["a"] * 9)) == 2
    assert samples.wants("a", signs, is_likely=False)
    assert samples.note("a", signs, _rows(1)) == (True, 7)
    assert samples.wants("a", signs, is_likely=False)
    assert samples.note("a", signs, _rows(2)) == (True, 0)


def test_samples_that_fail_are_bounded_too() -> None:
    samples = ScriptSamples(SampleLimits(vain=2))
    samples.note_failure()
    samples.note_failure()
    assert not samples.wants("a", ScriptSigns("s", inserts=True), is_likely=True)


def _page(text: str, *links: str, **fields: Any) -> ItemResult:
    found = tuple(DiscoveredLink(link, link, "host", 1) for link in links)
    record = json.dumps({"url": "u", "timestamp": str(len(text)), "title": "t", "full_text": text, **fields})
    return ItemResult(1, "k", ItemState.DONE, record=record, found=found)


_PLAIN = "A heading\nThe formula $x^2 + y$ stands in a long paragraph of words.\ndef f(): return 1\nRow one is first"


@pytest.mark.parametrize(
    "rendered, is_content",
    [
        (_page(_PLAIN), False),
        (_page(_PLAIN + "\n© 2026"), False),
        (_page("A heading\nA heading\n" + _PLAIN), False),  # a table of contents
        (_page(_PLAIN.replace("$x^2 + y$", "x 2 + y")), False),  # a formula that was set
        (_page(_PLAIN + "\n1\n2\n3\n4\n5\n6\n7\nCopy"), False),  # numbers of lines
        (_page("Subscribe now"), False),  # the scripts took the page away
        (_page(_PLAIN + "\nRow two is second\nRow three is third"), True),
        (_page(_PLAIN, "/new"), True),
        (_page(_PLAIN, price="7"), True),
        (_page(_PLAIN, rows=[{"a": 1}, {"a": 2}]), True),
    ],
)
def test_what_counts_as_content(rendered: ItemResult, is_content: bool) -> None:
    fetched = _page(_PLAIN, price=None, rows=[{"a": 1}])
    assert compare(rendered, fetched).is_content is is_content


def test_links_out_of_scope_are_no_content_and_removed_links_stay() -> None:
    shared = _page(_PLAIN)._replace(found=(DiscoveredLink("x", "x", "h", 1, "out_of_scope"),))
    assert not compare(shared, _page(_PLAIN)).is_content
    united = unite(_page("more", "/a"), _page("less", "/a", "/b"))
    assert [link.url for link in united.found] == ["/a", "/b"]
    assert unite(_page("x", "/a")._replace(record=None), _page("less")).record == _page("less").record
