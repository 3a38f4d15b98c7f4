"""Names that survive the next build of a site, and names that do not."""

import pytest

from corral.extract.page import Page
from corral.extract.selectors.generate import selector_for
from corral.extract.selectors.stable_names import is_generated

GENERATED = "css-1x2y3z sc-bdVaJa jss12 price__3xY2a post-8412 eoSkTD svelte-1abc23 makeStyles-root-12 react-aria-123"
WRITTEN = "price product-title productTitle nav-link star-rating woocommerce-Price-amount h-card p-name level1 isOpen"


@pytest.mark.parametrize("name", GENERATED.split())
def test_names_of_tools_and_of_one_item_are_generated(name: str) -> None:
    assert is_generated(name)


@pytest.mark.parametrize("name", WRITTEN.split())
def test_names_that_people_wrote_are_not_generated(name: str) -> None:
    assert not is_generated(name)


@pytest.mark.parametrize(
    "html, css",
    [
        ('<b>y</b><b id="r-8412" data-testid="cost" class="css-1x2y3z">x</b>', 'b[data-testid="cost"]'),
        ('<b class="css-9a8b7c">y</b><b class="css-1x2y3z" itemprop="price">x</b>', 'b[itemprop="price"]'),
        ('<b>y</b><b class="mt-4 text-lg amount">x</b>', "b.amount"),
        ('<b>y</b><b class="Card_price__3xY2a">x</b>', 'b[class*="Card_price__"]'),
        ('<b>y</b><div class="offer"><i><b class="sc-bdVaJa">x</b></i></div>', "i > b"),
        ('<i><b>y</b></i><div class="offer"><i><b class="sc-bdVaJa">x</b></i></div>', "div.offer b"),
    ],
)
def test_selectors_are_made_of_what_lasts(html: str, css: str) -> None:
    page = Page(html)
    [node] = [node for node in page.tree.css("b") if node.text() == "x"]
    assert selector_for(page, node) == css
