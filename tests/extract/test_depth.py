"""How deep the elements of a page lie, counted before it is parsed."""

from corral.extract.page import is_too_deep


def test_elements_of_a_picture_that_close_themselves_are_no_nesting() -> None:
    icons = "<svg viewBox='0 0 1 1'><g><path d='M0 0'/><use href='#a' /><circle r=1 /></g></svg>" * 2_000
    assert not is_too_deep(f"<body>{icons}</body>")
    assert not is_too_deep("<body><svg>" + "<path d='M0 0'/>" * 20_000 + "</svg></body>")


def test_elsewhere_a_slash_at_the_end_closes_nothing() -> None:
    assert is_too_deep("<body>" + "<div />" * 20_000)
    assert is_too_deep("<body><svg></svg>" + "<x-y />" * 20_000)
    assert is_too_deep("<body><svg>" + "<g>" * 20_000)
