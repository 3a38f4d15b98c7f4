"""The same content as Markdown and as clean HTML, and what is known about it."""

import pytest

from corral.extract.names.named_values import NamedValues
from corral.extract.page import Page
from corral.extract.readable import readable_of

LONG = "Horses graze on the meadow behind the barn, and in the evening they come back without being called by anyone."
PAGE = f"""<html lang="de-AT"><head><title>Horses - The Daily Farm</title><meta property="og:title" content="Horses">
<meta name="author" content="Jane Doe"><meta property="article:published_time" content="2026-05-03T10:00:00Z"></head>
<body><nav><a href="/">Home</a></nav><article class="a b" onclick="x()"><h2>Horses</h2>
<p style="color: red">{LONG}
See <a href="/more" onclick="y()">more of <b>them</b></a> and <code>f(x)</code>.<br>New line</p>
<ul><li>One</li><li>Two <em>or</em> three</li></ul><ol><li>First</li><li>Second</li></ol>
<blockquote><p>A quote, of a farmer.</p></blockquote>
<pre><code class="language-python">def f():
    return 1
</code></pre>
<table><tr><th>Key</th><th>Value</th></tr><tr><td>a|b</td><td>1</td></tr></table>
<figure><img src="h.jpg" alt="A horse"><figcaption>In May</figcaption></figure>
<p><a href="javascript:alert(1)">Not a link</a> but a sentence of some length, which ends here.</p><script>z()</script>
</article></body></html>"""


def read() -> tuple[str, str]:
    found = readable_of(Page(PAGE, "http://a.test/x/y"))
    return found.markdown, found.html


def test_markdown_keeps_structure_links_and_code() -> None:
    markdown, _ = read()
    assert "## Horses\n\n" in markdown
    assert "See [more of **them**](<http://a.test/more>) and `f(x)`.  \nNew line" in markdown
    assert "- One\n- Two *or* three" in markdown
    assert "1. First\n2. Second" in markdown
    assert "> A quote, of a farmer." in markdown
    assert "```python\ndef f():\n    return 1\n```" in markdown
    assert "| Key | Value |\n| --- | --- |\n| a\\|b | 1 |" in markdown
    assert "![A horse](<http://a.test/x/h.jpg>)" in markdown
    assert "Home" not in markdown
    assert "javascript" not in markdown


def test_html_has_elements_of_text_and_nothing_of_the_site() -> None:
    _, html = read()
    assert '<a href="http://a.test/more">more of <b>them</b></a>' in html
    assert "<pre>def f():\n    return 1</pre>" in html
    assert "<th>Key</th>\n<th>Value</th>" in html
    assert "<li>One</li>\n<li>Two <em>or</em> three</li>" in html
    assert "<figcaption>In May</figcaption>" in html
    for unwanted in ("class=", "style=", "onclick", "javascript", "script", "Home"):
        assert unwanted not in html


def test_title_author_date_and_language_are_told() -> None:
    found = readable_of(Page(PAGE))
    assert (found.title, found.author, found.date, found.language) == (
        "Horses",
        "Jane Doe",
        "2026-05-03T10:00:00Z",
        "de-AT",
    )
    nothing = readable_of(Page("<p>x</p>"))
    assert (nothing.title, nothing.author, nothing.date, nothing.language) == (None, None, None, None)


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("content", "- Two or three"),
        ("content_markdown", "- Two *or* three"),
        ("markdown", "- Two *or* three"),
        ("content_html", "<li>Two <em>or</em> three</li>"),
    ],
)
def test_bare_names_give_each_form(name: str, wanted: str) -> None:
    found = NamedValues(Page(PAGE, "http://a.test/x/y")).find_one(name)
    assert found is not None
    assert wanted in found.value
    assert "\n" in found.value
    assert "Home" not in found.value
