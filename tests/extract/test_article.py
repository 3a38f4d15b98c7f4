import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.extract.article import article_of
from corral.extract.page import Page
from corral.extract.value_limit import DEFAULT_CHARS, capture_limit

LONG = "Horses graze on the meadow behind the barn. " * 10
AROUND = "<header>Top</header><nav>Menu <a href=/>Home</a></nav>{}<aside>Ads</aside><footer>Imprint</footer>"


def text_of(body: str) -> str:
    return article_of(Page(f"<html><head><title>T</title></head><body>{body}</body></html>")).text


@pytest.mark.parametrize(
    "inner",
    [
        f"<article><h1>Horses</h1><p>{LONG}</p></article>",
        f"<main><h1>Horses</h1><p>{LONG}</p></main>",
        f"<div role=main><h1>Horses</h1><p>{LONG}</p></div>",
        f"<div><div><h1>Horses</h1><p>{LONG}</p></div></div><div><p>Elsewhere</p></div>",
        f"<main><div>Teaser</div><article><h1>Horses</h1><p>{LONG}</p></article></main>",
    ],
)
def test_the_main_text_is_found_without_what_is_around_it(inner: str) -> None:
    assert text_of(AROUND.format(inner)) == f"Horses {LONG.strip()}"


def test_what_is_not_read_is_left_out_of_the_middle_of_a_text() -> None:
    body = f"""<article>One <b>two</b><script>var x = 1</script> three<div><p>four<style>p {{}}</style> five</p>
        <form>Subscribe</form></div><noscript>Enable scripts</noscript><p hidden>secret</p><svg><title>i</title></svg>
        {LONG}</article>"""
    assert text_of(body) == f"One two three four five {LONG.strip()}"


def test_several_articles_are_a_list_and_what_holds_them_is_the_text() -> None:
    body = f"<main><article>{LONG}A</article><article>{LONG}B</article></main>"
    assert text_of(body) == f"{LONG}A {LONG}B"


def test_a_page_without_a_main_part_is_its_body() -> None:
    assert text_of("<nav>Menu</nav><div>Short</div>") == "Short"
    assert text_of("") == ""


def test_title_and_sizes_are_told() -> None:
    article = article_of(Page("<title> A  title </title><main>three plain words</main>"))

    assert article == ("A title", "three plain words", 3, 17)
    assert article_of(Page("<h1>Only a heading</h1>")).title == "Only a heading"


def test_a_text_is_bounded() -> None:
    article = article_of(Page(f"<main><nav>x</nav><p>{'word ' * 300_000}</p></main>"))
    assert DEFAULT_CHARS - 10 < article.char_count <= capture_limit()


def test_the_page_is_as_it_was() -> None:
    page = Page(f"<main><nav>Menu</nav><p>{LONG}</p></main>")
    before = page.tree.html
    article_of(page)

    assert page.tree.html == before


def test_what_is_left_out_may_be_nested_deeply_and_often() -> None:
    body = "<main>" + "<div>" * 200 + "<nav>x<nav>y</nav></nav>" * 300 + "Text" + "</div>" * 200 + "</main>"
    assert text_of(body) == "Text"


@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<div>",
                "</div>",
                "<nav>",
                "</nav>",
                "<main>",
                "</main>",
                "<article>",
                "</article>",
                "<script>",
                "</script>",
                "text ",
                "<svg>",
                "<table>",
                "<td>",
                "<frameset>",
                "<template>",
            ]
        ),
        max_size=30,
    )
)
def test_any_page_has_a_text(pieces: list[str]) -> None:
    article = article_of(Page("".join(pieces)))
    assert article.char_count == len(article.text)
