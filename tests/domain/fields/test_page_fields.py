"""Which fields a page has: those of every page, and those of the first pattern that matches."""

from corral.domain.fields.own_code import make_parser
from corral.domain.fields.page_fields import PageFields, choose_fields
from corral.domain.fields.spec import FieldSpec

TITLE, PRICE, OTHER_TITLE = FieldSpec("title"), FieldSpec("price"), FieldSpec("title", css="h1")
CODE = make_parser("def parse(page): return {}", "all.py")
OWN_CODE = make_parser("def parse(page): return {}", "own.py")
SHOP = PageFields("/p/*", (PRICE,))


def test_a_page_has_the_common_fields_and_those_of_its_pattern() -> None:
    assert choose_fields("https://a.example/p/1", (SHOP,), (TITLE,)) == (TITLE, PRICE)
    assert choose_fields("https://a.example/b", (SHOP,), (TITLE,)) == (TITLE,)
    assert choose_fields("https://a.example/p/1", (SHOP, PageFields("/*", (TITLE,))), ()) == (PRICE,)


def test_what_a_pattern_says_replaces_what_is_common() -> None:
    assert PageFields("/p/*", (OTHER_TITLE,)).add_to((TITLE, PRICE)) == (PRICE, OTHER_TITLE)
    assert PageFields("/p/*", (OWN_CODE,)).add_to((CODE, TITLE)) == (TITLE, OWN_CODE)
    assert SHOP.add_to((CODE,)) == (CODE, PRICE)
