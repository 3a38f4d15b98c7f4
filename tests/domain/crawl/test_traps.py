import json
import random
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.crawl.templates.budget import TemplateBudget
from corral.domain.crawl.templates.fingerprint import NUMBERS_FROM
from corral.domain.crawl.templates.tally import TrapLimits
from corral.domain.crawl.templates.traps import (
    Trap,
    family_of,
    is_dated,
    is_named_by_list,
    shape_of,
    template_of,
    variants_of,
)
from corral.domain.errors import BadInput
from corral.domain.net.canonical import canonical_url
from corral.domain.net.url import parse_target

TODAY = date(2026, 11, 15)
SITE = "https://example.com"
LIMITS = TrapLimits(query_variants=5, barren_pages=3, templates=20, prints=4)


@pytest.mark.parametrize(
    "path, trap",
    [
        ("/a/a/a/a", Trap.REPEATED_SEGMENTS),
        ("/a/b/a/b/a/b/a/b", Trap.REPEATED_SEGMENTS),
        ("/docs/x/docs/y/docs/z/docs/w", Trap.REPEATED_SEGMENTS),
        ("/a/a/a/b", None),
        ("/a/b/c/d/e/f/g/h", None),
        ("/x?next=/a/a/a/a/a/a/a/a", None),
        ("/" + "/".join(map(str, range(20))), None),
        ("/" + "/".join(map(str, range(20))) + "/", None),
        ("/" + "/".join(map(str, range(21))), Trap.TOO_MANY_SEGMENTS),
        ("/events/2026/11/", None),
        ("/events/2028/12", None),
        ("/events/2031/02/", Trap.CALENDAR),
        ("/events/2031/2", Trap.CALENDAR),
        ("/events/2031-02-14", Trap.CALENDAR),
        ("/events/on-2031-02-14.html", Trap.CALENDAR),
        ("/events/2031-02/", Trap.CALENDAR),
        ("/parts/bolt-2900-12", None),
        ("/parts/1200/12", None),
        ("/archive/1900/01/01/", None),
        ("/archive/1100/01/01/", Trap.CALENDAR),
        ("/calendar?date=2031-02-14", Trap.CALENDAR),
        ("/calendar?month=2&year=2050", Trap.CALENDAR),
        ("/calendar?date=20310214", Trap.CALENDAR),
        ("/calendar?year=2026", None),
        ("/item?id=2050", None),
        ("/item/2050", None),
        ("/item/12031/02", None),
        ("/part/2031/999", None),
        ("/", None),
    ],
)
def test_traps_that_show_by_their_shape(path: str, trap: Trap | None) -> None:
    assert shape_of(SITE + path, TODAY) is trap


@pytest.mark.parametrize(
    "page, is_list",
    [
        ("/", True),
        ("/index-of-issues", True),
        ("/archive/1848/01", True),
        ("/archive/1848/01/01", True),
        ("/calendar?year=2999", True),
        ("/calendar/2026/11", False),
        ("/calendar?date=2026-11-15", False),
    ],
)
def test_a_far_date_is_a_trap_only_where_a_nearer_one_leads_to_it(page: str, is_list: bool) -> None:
    assert is_named_by_list(Trap.CALENDAR, SITE + page, TODAY) is is_list
    assert not is_named_by_list(Trap.REPEATED_SEGMENTS, SITE + page, TODAY)
    assert not is_named_by_list(None, SITE + page, TODAY)


@pytest.mark.parametrize(
    "path, template",
    [
        ("/", "/"),
        ("/about", "/about"),
        ("/About/", "/about/"),
        ("/items/17", "/items/{n}"),
        ("/items/17/edit", "/items/{n}/edit"),
        ("/page17.html", "/page{n}.html"),
        ("/2026/11/15/", "/{n}/{n}/{n}/"),
        ("/log/2026-11-15", "/log/{date}"),
        ("/a-very-long-name-of-17-words", "/{name}"),
        ("/x/0f8fad5b-d9cb-469f-a165-70867728950e", "/x/{id}"),
        ("/x/9f86d081884c7d65", "/x/{id}"),
        ("/maze/k3f9x2ab7", "/maze/{id}"),
        ("/list?page=2&sort=up", "/list?page&sort"),
        ("/list?sort=down&page=3", "/list?page&sort"),
        ("/list?filter[3]=x", "/list?filter[{n}]"),
    ],
)
def test_addresses_of_one_making_have_one_template(path: str, template: str) -> None:
    assert template_of(SITE + path) == "example.com" + template


def test_no_address_takes_long() -> None:
    hostile = [
        f"{SITE}/{piece * 200}." for piece in ("-a-a-a-a-a", "----------", "2031-01-0_", "0123456789", "a/2031/1/%")
    ]
    began = time.process_time()
    for url in hostile * 20:
        template_of(url)
        shape_of(url, TODAY)

    assert time.process_time() - began < 0.5


def test_a_long_address_has_a_template_with_its_query() -> None:
    template = template_of(f"{SITE}/{'long/' * 200}?{'&'.join(f'name{chr(97 + n)}=1' for n in range(26))}")

    assert "?namea&nameb" in template
    assert len(template) <= 200


@given(st.text(max_size=60))
def test_every_address_has_a_bounded_template(tail: str) -> None:
    try:
        url = canonical_url(parse_target(f"{SITE}/{tail}"))
    except BadInput:
        return
    template = template_of(url)

    assert template.startswith("example.com/")
    assert len(template) <= 200
    assert ("?" in template) == ("?" in url)
    assert family_of(template).startswith("example.com/")
    shape_of(url, TODAY)


def test_more_than_so_many_variants_of_a_query_are_deferred() -> None:
    budget = TemplateBudget(LIMITS)
    facets = [budget.admit(template_of(f"{SITE}/shop?colour={number}&size=1")) for number in range(7)]

    assert facets == [None] * 5 + [Trap.QUERY_VARIANTS] * 2
    assert budget.admit(template_of(f"{SITE}/shop?page=1")) is Trap.QUERY_VARIANTS
    assert budget.admit(template_of(f"{SITE}/list?page=1")) is None
    assert [budget.admit(template_of(f"{SITE}/item/{number}")) for number in range(50)] == [None] * 50
    assert budget.list_held() == {"example.com/shop?…": Trap.QUERY_VARIANTS}
    assert budget.hold(template_of(f"{SITE}/shop?page=1"), is_deferred=True) is None


def test_the_limit_of_variants_is_five_hundred() -> None:
    budget = TemplateBudget()
    admitted = [budget.admit("example.com/list?page") for _ in range(600)]

    assert admitted.count(None) == 500


def test_a_template_that_brings_nothing_new_is_deferred_and_never_refused_for_it() -> None:
    budget = TemplateBudget(LIMITS)
    template = template_of(f"{SITE}/maze/1/2")
    for _ in range(3):
        budget.observe(template, 77)
    assert budget.admit(template) is None
    for _ in range(5_000):
        assert budget.observe(template, 77) == []

    assert budget.admit(template) is Trap.NO_NEW_CONTENT
    assert budget.hold(template, is_deferred=False) is Trap.NO_NEW_CONTENT
    assert budget.hold(template, is_deferred=True) is None
    assert set(budget.list_held().values()) == {Trap.NO_NEW_CONTENT}


def test_something_new_lifts_a_starved_template() -> None:
    budget = TemplateBudget(LIMITS)
    template = template_of(f"{SITE}/maze/1")
    for _ in range(4):
        budget.observe(template, 77)
    assert budget.admit(template) is Trap.NO_NEW_CONTENT
    budget.observe(template, 2**64 - 1)

    assert budget.admit(template) is None
    assert budget.hold(template, is_deferred=False) is None
    assert budget.list_held() == {}


def grow(budget: TemplateBudget, template: str, pages: int, yielded: int = 1, found_on: str | None = None) -> list[str]:
    """The names that prove to be endless after so many pages that are all alike."""
    endless = []
    for _ in range(pages):
        endless += budget.observe(template, 77, led_to=[template] * yielded, found_on=found_on or template)
    return endless


def test_a_chain_without_end_is_proven_and_refused() -> None:
    budget = TemplateBudget()
    template = template_of(f"{SITE}/photo/1")

    assert grow(budget, template, 900) == []
    assert set(grow(budget, template, 200)) == {template, family_of(template)}
    assert budget.admit(template) is Trap.ENDLESS
    assert budget.hold(template, is_deferred=True) is Trap.ENDLESS
    assert budget.behind(template, Trap.ENDLESS) == template


def test_a_larger_crawl_may_spend_more() -> None:
    budget = TemplateBudget()
    budget.fetched = 20_000
    assert grow(budget, template_of(f"{SITE}/photo/1"), 3_000) == []


def test_a_set_that_drains_is_never_refused() -> None:
    budget = TemplateBudget()
    template = template_of(f"{SITE}/photo/1")

    assert grow(budget, template, 100, yielded=30) == []
    assert grow(budget, template, 3_000, yielded=0) == []
    assert budget.hold(template, is_deferred=True) is None


def test_what_other_pages_name_is_no_growth() -> None:
    budget = TemplateBudget()
    template, list_page = template_of(f"{SITE}/photo/1"), template_of(f"{SITE}/album?page=1")

    assert grow(budget, template, 3_000, yielded=9, found_on=list_page) == []


def test_pages_directly_below_the_host_are_no_folder() -> None:
    """A maze of words at the root would take every other page there with it."""
    budget = TemplateBudget()
    for number in range(3_000):
        template = template_of(f"{SITE}/{'abcdefghij'[number % 10]}{'xyz'[number % 3]}")
        assert budget.observe(template, 77, led_to=[f"example.com/w{number}"], found_on="example.com/aa") == []
    assert budget.admit("example.com/about") is Trap.NO_NEW_CONTENT


def test_a_maze_of_words_is_starved_by_its_folder() -> None:
    budget = TemplateBudget(LIMITS)
    for word in ("alpha", "beta", "gamma", "delta"):
        budget.observe(template_of(f"{SITE}/maze/{word}"), 77)

    assert budget.admit(template_of(f"{SITE}/maze/epsilon")) is Trap.NO_NEW_CONTENT
    assert budget.admit(template_of(f"{SITE}/shop/epsilon")) is None


def test_pages_that_are_each_new_are_never_held_back() -> None:
    budget = TemplateBudget(LIMITS)
    chance = random.Random(1)
    template = template_of(f"{SITE}/articles/17")
    for _ in range(1000):
        assert budget.observe(template, chance.getrandbits(64), led_to=[template] * 3, found_on=template) == []

    assert budget.admit(template) is Trap.INVENTED_LINKS, "a maze may look like this: it comes last"
    assert Trap.INVENTED_LINKS in budget.list_held().values()
    assert budget.hold(template, is_deferred=True) is None


def test_facets_are_starved_by_their_path_where_they_bring_no_new_word() -> None:
    budget = TemplateBudget(LIMITS)
    chance = random.Random(1)
    facets = [template_of(f"{SITE}/shop?{name}=1") for name in ("colour", "size", "brand", "sort", "price")]
    for facet in facets:
        budget.observe(facet, chance.getrandbits(64), words=[1, 2, 3])

    assert budget.list_held() == {"example.com/shop?…": Trap.NO_NEW_CONTENT}
    budget.observe(facets[0], 5, words=[1, 2, 4])
    assert budget.list_held() == {}


def test_lists_that_are_alike_and_lead_to_new_pages_are_never_held_back() -> None:
    budget = TemplateBudget(LIMITS)
    page, photo = template_of(f"{SITE}/gallery?page=1"), template_of(f"{SITE}/photos/1")
    for _ in range(3_000):
        assert budget.observe(page, 77, words=[1], led_to=[page, photo], found_on=page) == []

    assert budget.list_held() == {}
    grow(budget, page, 6)
    assert page in budget.list_held()


def test_words_of_a_template_that_were_forgotten_are_new_again() -> None:
    budget = TemplateBudget(TrapLimits(barren_pages=1, words=10))
    for number in range(20):
        budget.observe("example.com/q/{n}", random.Random(number).getrandbits(64), words=[number])

    budget.observe("example.com/q/{n}", random.Random(30).getrandbits(64), words=[0])
    assert "example.com/q/{n}" not in budget.list_held()
    budget.observe("example.com/q/{n}", random.Random(31).getrandbits(64), words=[0])
    assert "example.com/q/{n}" in budget.list_held()


def test_a_new_year_on_the_same_calendar_is_nothing_new_and_a_new_name_is() -> None:
    budget = TemplateBudget(LIMITS)
    days = [NUMBERS_FROM + day for day in range(31)]
    template = template_of(f"{SITE}/calendar/2026/11")
    chance = random.Random(1)
    for year in range(4):
        budget.observe(template, chance.getrandbits(64), words=[1, 2, *days, NUMBERS_FROM + 1000 + year])
    assert budget.list_held() == {template: Trap.NO_NEW_CONTENT, family_of(template): Trap.NO_NEW_CONTENT}
    budget.observe(template, chance.getrandbits(64), words=[1, 3, 4, *days])
    assert budget.list_held() == {}


def test_addresses_with_a_query_that_are_worth_it_make_room_for_more() -> None:
    """A shop whose products are told apart by a parameter is no trap."""
    budget = TemplateBudget(LIMITS)
    product = template_of(f"{SITE}/product?id=1")
    assert [budget.admit(product) for _ in range(8)] == [None] * 5 + [Trap.QUERY_VARIANTS] * 3
    assert budget.behind(product, Trap.QUERY_VARIANTS) == variants_of(product)
    chance = random.Random(1)
    for number in range(1, 4):
        budget.observe(product, chance.getrandbits(64), words=[number])
    assert [budget.admit(product) for _ in range(4)] == [None] * 3 + [Trap.QUERY_VARIANTS]


def test_what_was_on_any_page_of_the_crawl_is_nothing_new() -> None:
    budget = TemplateBudget(LIMITS)
    template = template_of(f"{SITE}/print/1")
    for number in range(3):
        budget.observe(template, random.Random(number).getrandbits(64), words=[number], is_again=True)
    assert budget.admit(template) is Trap.NO_NEW_CONTENT


@pytest.mark.parametrize(
    "url, is_one",
    [
        ("/2026/11", True),
        ("/events/2026-11-03", True),
        ("/list?month=5", True),
        ("/plan?date=tomorrow", True),
        ("/list?page=5", False),
        ("/parts/2026/77", False),
        ("/articles/17", False),
    ],
)
def test_addresses_that_name_a_date(url: str, is_one: bool) -> None:
    assert is_dated(f"{SITE}{url}") is is_one


_STEPS = st.lists(
    st.tuples(st.sampled_from(["admit", "hold", "observe"]), st.integers(0, 40), st.integers(0, 3)), max_size=80
)


@given(_STEPS)
def test_a_budget_comes_back_from_its_document_at_any_moment(steps: list[tuple[str, int, int]]) -> None:
    """All but the words of folders, which are learned again."""
    budget = TemplateBudget(LIMITS)
    for what, number, content in steps:
        name = f"example.com/{'abcdefghijklmnopqrstuvwxyz'[number % 26]}?x"
        if what == "admit":
            budget.admit(name)
        elif what == "hold":
            budget.hold(name, is_deferred=bool(content))
        else:
            budget.observe(
                name,
                content << 40,
                words=[content],
                led_to=[name] if content else [],
                found_on=name if number else None,
            )
        again = TemplateBudget.of(json.loads(json.dumps(budget.document())), LIMITS)
        assert budget.document() == again.document()
        assert budget.list_held() == again.list_held()
        assert len(budget.document()["templates"]) <= LIMITS.templates


def test_what_an_earlier_version_wrote_is_learned_again() -> None:
    budget = TemplateBudget.of({"templates": [["example.com/a", 1, 2, 3, 4, 15, [], []]]})
    assert budget.list_held() == {}


def test_the_document_of_a_budget_is_small_however_large_the_site() -> None:
    budget = TemplateBudget()
    chance = random.Random(1)
    for number in range(5_000):
        word = "".join(chance.choices("abcdefghij", k=9))
        template = template_of(f"{SITE}/{word}/{'x' * 200}?a={number}")
        budget.admit(template)
        budget.observe(template, chance.getrandbits(64), words=[chance.getrandbits(32) for _ in range(16)])

    assert len(json.dumps(budget.document())) < 2_000_000
