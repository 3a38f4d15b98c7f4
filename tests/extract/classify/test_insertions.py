"""Scripts that could add content, by their text."""

import pytest

from corral.extract.classify.insertions import read_script, script_signs
from corral.extract.classify.shells import own_scripts
from corral.extract.page import Page

_URL = "https://site.example/page"
_TEXTS = ", ".join(f'"The {word} text of the data"' for word in ("first", "second", "third", "fourth", "fifth"))


def _signs(body: str) -> tuple[bool, bool] | None:
    signs = script_signs(Page(f"<title>x</title><body><p>Some text.</p>{body}", _URL), _URL)
    return None if signs is None else (signs.inserts, signs.is_likely)


@pytest.mark.parametrize(
    "body",
    [
        "",
        '<script type="application/ld+json">{"name": "x"}</script>',
        "<script>document.body.classList.toggle('open')</script>",
        "<script>window.dataLayer = []; dataLayer.push(arguments)</script>",
        "<script async src='https://www.googletagmanager.com/gtag/js?id=G-1'></script>",
        "<script src='https://cdn.cookielaw.org/scripttemplates/otSDKStub.js'></script>",
        "<script src='http://[broken'></script>",
    ],
)
def test_scripts_that_add_nothing_are_known_by_their_text(body: str) -> None:
    assert _signs(body) in (None, (False, False))


def test_a_script_with_an_invalid_url_is_no_script_of_the_host() -> None:
    page = Page("<script src='http://[broken'></script><script src='../a.js'></script>", _URL)
    assert own_scripts(page, _URL) == ["https://site.example/a.js"]


@pytest.mark.parametrize(
    "body, expected",
    [
        ("<script src=/bundle.js></script>", (False, False)),  # its file decides
        ("<script src='https://cdn.site.example/bundle.js'></script>", (True, False)),
        ("<script>document.write(new Date().getFullYear())</script>", (True, False)),
        ("<div id=search></div><script>get('search').innerHTML = x</script>", (True, False)),
        ("<img src=x onerror=\"document.body.append('x')\">", (True, False)),
        ("<ul id=list></ul><script>document.getElementById('list').append(x)</script>", (True, True)),
        ("<ul class=rows> </ul><script>document.querySelector('ul.rows').innerHTML = x</script>", (True, True)),
        ("<my-list></my-list><script>customElements.define('my-list', X)</script>", (True, True)),
        (f"<script>const d = [{_TEXTS}]; document.body.append(d)</script>", (True, True)),
        (f"<p>{_TEXTS}</p><script>const d = [{_TEXTS}]; document.body.append(d)</script>", (True, False)),
        (f"<template>{'<p>words</p>' * 50}</template><script>x.append(t.content.cloneNode())</script>", (True, True)),
        ("<div><template shadowrootmode=open><p>text</p></template></div>", (True, True)),
    ],
)
def test_scripts_that_could_add_content(body: str, expected: tuple[bool, bool]) -> None:
    assert _signs(body) == expected


def test_a_signature_is_that_of_the_code_and_not_of_its_data() -> None:
    def signature(script: str) -> str | None:
        signs = script_signs(Page(f"<body><script>{script}</script>", _URL), _URL)
        return signs and signs.signature

    one = signature('const d = ["a"]; document.write(d)')
    assert one == signature('const d = ["b", "c", 7]; document.write(d)') is not None
    assert one != signature('const e = ["a"]; document.body.append(e)')


def test_the_text_of_a_script_file_names_what_it_fills() -> None:
    facts = read_script("const box = document.querySelector('#product-list'); box.innerHTML = rows")
    assert (facts.inserts, facts.loads_more) == (True, False)
    assert "product-list" in facts.names
    assert not read_script("document.body.classList.add('x')").inserts
