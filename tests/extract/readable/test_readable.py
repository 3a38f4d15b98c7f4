"""Shapes of pages, each with what a reader came for and what stands around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.extract.page import Page
from corral.extract.readable import readable_of
from corral.extract.readable.article import article_of
from corral.extract.value_limit import DEFAULT_CHARS, capture_limit

ONE = "Horses graze on the meadow behind the barn, and in the evening they come back without being called by anyone."
TWO = "In winter they stay inside, where the farmer feeds them hay that was cut in June and dried in the sun for days."
THREE = "A foal can stand within an hour of its birth; after a day it gallops beside its mother across the whole field."
MENU = "".join(f'<li><a href="/section/{n}">Section number {n}</a></li>' for n in range(12))
CARDS = "".join(
    f'<div class="c{n}"><h3><a href="/story/{n}">Another story, number {n}</a></h3><p>Teaser of a story …</p></div>'
    for n in range(6)
)


def text_of(body: str, head: str = "<title>T</title>") -> str:
    return readable_of(Page(f"<html><head>{head}</head><body>{body}</body></html>", "http://a.test/x/")).text


ARTICLE = f"""
<header><a href="/">The Daily Farm</a><ul class="menu">{MENU}</ul></header>
<div id="cookie-notice"><p>We use cookies, and by staying on this page you agree to all of them, now and forever.</p>
</div>
<div class="wrap"><div class="content">
  <h1>Horses in the evening</h1><div class="byline">By <a href="/jane">Jane Doe</a>, 3 May 2026</div>
  <div class="body"><p>{ONE}</p><div class="share-buttons">Share on all networks</div><p>{TWO}</p>
    <div class="suggested_reading"><p>Suggested: what a <a href="/story/7">goat</a> does on a roof, and why.</p></div>
    <figure><img src="h.jpg"><figcaption>A horse behind the barn, in May.</figcaption></figure>
    <p><a href="/story/9">Read this as well: the goat that climbed a roof</a></p>
    <h2>Foals</h2><p>{THREE}</p><p>{ONE}</p></div>
  <div class="newsletter"><p>Subscribe to our newsletter, and get a horse in your inbox every morning at seven.</p>
</div>
  <h3>More stories</h3><div>{CARDS}</div>
  <div id="comments"><h3>2 comments</h3>
<p>I have a horse as well, and it does come when I call it, most of the time.</p></div>
</div><aside><p>Jane Doe has written about horses for this newspaper since the year 1990, and rides one.</p></aside>
</div>
<footer><p>Copyright by the publisher of this newspaper. All rights are reserved, and all wrongs as well.</p></footer>
"""


def test_an_article_is_read_without_what_stands_around_it() -> None:
    lines = text_of(ARTICLE).split("\n")

    assert lines == [ONE, TWO, "A horse behind the barn, in May.", "Foals", THREE, ONE]


SPHINX = f"""<div class="related" role="navigation"><ul>{MENU}</ul></div><div class="document">
<div class="body" role="main">
<section id="a"><h1>Module a<a class="headerlink" href="#a">¶</a></h1><p>{ONE}</p>
<section id="share-and-comments-of-a"><h2>Use<a class="headerlink" href="#b">¶</a></h2><p>{TWO}</p>
<div class="highlight-python3"><div class="highlight"><pre><span>def</span> f():\n    <span>return</span> 1\n</pre>
</div></div></section>
<section id="c"><h2>Members</h2><dl><dt>f()<a class="headerlink" href="#f">¶</a></dt><dd><p>Returns one.</p></dd></dl>
</section></section></div></div><div class="sphinxsidebar"><h3>Navigation</h3><ul>{MENU}</ul></div>"""
DOXYGEN = f"""<div id="top"><div id="main-nav"><ul>{MENU}</ul></div></div><div class="header">
<div class="title">f.h</div></div>
<div class="contents"><p>{ONE}</p><table class="memberdecls"><tr><td>int</td><td><a href="f.html">f</a> (int x)</td>
</tr>
</table><div class="memitem"><div class="memproto">int f(int x)</div><div class="memdoc"><p>{TWO}</p></div></div>
<div class="memitem"><div class="memproto">int g(int y)</div><div class="memdoc"><p>Returns y.</p></div></div></div>"""
RUSTDOC = f"""<nav class="sidebar"><ul>{MENU}</ul></nav><main><section id="main-content" class="content">
<h1>Struct Vec</h1>
<pre class="rust">pub struct Vec&lt;T&gt; {{ }}</pre><div class="docblock"><p>{ONE}</p></div><h2>Implementations</h2>
<details open><summary>
<section class="impl"><h4 class="code-header">fn <a href="#new">new</a>() -&gt; Self</h4></section></summary>
<div class="docblock"><p>Makes a new one.</p></div></details></section></main>"""
DOCBOOK = f"""<div class="navheader"><a href="a.html">Prev</a> <a href="b.html">Next</a></div><div class="sect1">
<h2>1.1 A</h2>
<p>{ONE}</p><div class="sidebar"><p class="title">NOTE</p><p>{THREE}</p></div><div class="sect2"><h3>1.1.1 B</h3>
<p>{TWO}</p></div>
<div class="table"><table><tr><th>Key</th><th>Value</th></tr><tr><td>a</td><td>1</td></tr></table></div></div>
<div class="navfooter"><a href="a.html">Prev</a></div>"""


@pytest.mark.parametrize(
    "html, wanted",
    [
        (SPHINX, ["Module a", ONE, "Use", TWO, "def f():", "    return 1", "Members", "f()", "Returns one."]),
        (DOXYGEN, [ONE, "int\tf (int x)", "int f(int x)", TWO, "int g(int y)", "Returns y."]),
        (
            RUSTDOC,
            ["Struct Vec", "pub struct Vec<T> { }", ONE, "Implementations", "fn new() -> Self", "Makes a new one."],
        ),
        (DOCBOOK, ["1.1 A", ONE, "NOTE", THREE, "1.1.1 B", TWO, "Key\tValue", "a\t1"]),
    ],
)
def test_all_sections_of_documentation_are_kept(html: str, wanted: list[str]) -> None:
    assert text_of(html).split("\n") == wanted


def test_a_forum_thread_keeps_all_posts() -> None:
    posts = "".join(
        f'<li id="comment-{n}" class="comment"><div class="comment-author">User {n}</div><p>{text}</p></li>'
        for n, text in enumerate((ONE, TWO, THREE))
    )
    text = text_of(
        f'<ul class="menu">{MENU}</ul><h1>Why do horses come back?</h1><ol class="comment-list">{posts}</ol>'
    )

    assert all(post in text for post in (ONE, TWO, THREE))
    assert "Section number" not in text


def test_the_rows_of_a_table_are_lines() -> None:
    rows = "".join(f"<tr><td>Horse {n}</td><td>{n} years</td></tr>" for n in range(40))
    text = text_of(f"<ul class=nav>{MENU}</ul><main><p>{ONE}</p><table>{rows}</table></main>")

    assert text.split("\n")[1:3] == ["Horse 0\t0 years", "Horse 1\t1 years"]
    assert text.count("years") == 40


def test_paragraphs_may_be_line_breaks_in_one_element() -> None:
    text = text_of(f"<div class=menu>{MENU}</div><div>{ONE}<br><br>{TWO}<br>{THREE}</div>")
    assert text == f"{ONE}\n{TWO}\n{THREE}"


def test_text_without_spaces_is_measured_by_its_letters() -> None:
    sentence = "馬は納屋の裏の草地で草を食べ、夕方になると呼ばれなくても帰ってくる。"
    text = text_of(f"<ul>{MENU}</ul><div><p>{sentence}</p><p>{sentence}</p></div><div><a href='/x'>次の記事</a></div>")
    assert text == f"{sentence}\n{sentence}"


def test_hidden_elements_are_left_out() -> None:
    body = f"""<article><p>{ONE}</p><p hidden>No 1</p><div style="display: none">No 2</div>
<p aria-hidden="true">No 3</p>
    <p>{TWO} <span class="sr-only">No 4</span><span hidden>No 5</span></p><template><p>No 6</p></template>
    <noscript>No 7</noscript></article>"""
    assert text_of(body) == f"{ONE}\n{TWO}"


def test_a_misleading_name_around_everything_does_no_harm() -> None:
    body = (
        f'<div class="page has-sidebar"><div id="header" class="header"><h1>A</h1><p>{ONE}</p><p>{TWO}</p></div></div>'
    )
    assert text_of(body) == f"A\n{ONE}\n{TWO}"


def test_a_page_of_links_is_its_list() -> None:
    assert text_of(f"<h1>All sections</h1><ul>{MENU}</ul>").count("Section number") == 12


def test_the_introduction_between_headline_and_body_is_kept() -> None:
    body = (
        f"<div><div><h1>H</h1><p>{ONE}</p></div><div><div><p>{TWO}</p><p>{THREE}</p><p>{TWO * 5}</p></div></div></div>"
    )
    assert text_of(body).startswith(f"H\n{ONE}") or text_of(body).startswith(ONE)


def test_an_article_of_many_is_no_more_than_the_others() -> None:
    body = "".join(f"<article class=item><h2>{n}</h2><p>{ONE}</p><p>{TWO}</p></article>" for n in range(4))
    assert text_of(f"<main>{body}</main>").count(TWO) == 4


def test_broken_markup_and_an_empty_page_have_a_text() -> None:
    assert text_of(f"<div><p>{ONE}<div></p></span><p>{TWO}</table>") == f"{ONE}\n{TWO}"
    assert text_of("") == ""
    assert text_of("<div>Short</div>") == "Short"


def test_the_page_is_as_it_was() -> None:
    page = Page(ARTICLE)
    before = page.tree.html
    found = readable_of(page)
    assert all((found.text, found.markdown, found.html))
    assert page.tree.html == before


def test_title_and_sizes_are_counted() -> None:
    article = article_of(Page("<title> A  title </title><main><p>three plain words</p><p>two more</p></main>"))
    assert article == ("A title", "three plain words\ntwo more", 5, 26)
    assert article_of(Page("<h1>Only a heading</h1>")).title == "Only a heading"


def test_a_text_is_bounded() -> None:
    article = article_of(Page(f"<main><nav>x</nav><p>{'word ' * 300_000}</p></main>"))
    assert DEFAULT_CHARS - 10 < article.char_count <= capture_limit()


@pytest.mark.parametrize("tag", ["div", "span", "b", "blockquote", "li"])
def test_depth_is_no_problem(tag: str) -> None:
    deep = f"<{tag}>" * 3_000
    assert ONE in text_of(f"<div><p>{TWO}</p>{deep}<p>{ONE}</p>")


PIECES = (
    "<p> </p> <div> </div> <nav> </nav> <main> </main> <article> </article> <script> </script> text <svg> <table> <td>"
    " <frameset> <template> <a> </a> <br> <pre> <h1> <ul> <li> </ul> <aside> <form> <span> </span>"
)


@given(st.lists(st.sampled_from(PIECES.split()), max_size=30))
def test_any_page_has_a_text_in_every_form(pieces: list[str]) -> None:
    found = readable_of(Page(" ".join(pieces)))
    assert isinstance(found.text + found.markdown + found.html, str)
