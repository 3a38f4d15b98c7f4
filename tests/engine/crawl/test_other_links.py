"""Links and texts in unusual places, through the command line."""

import json

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site, words_of


def test_links_of_pictures_and_texts_of_written_frames_are_read_and_views_inside_a_page_are_named(
    corral: Corral,
) -> None:
    inside = f"<p>{words_of('inside', 20)}</p><a href='/framed'>a &amp; b</a>".replace("&", "&amp;").replace(
        '"', "&quot;"
    )
    picture = "<svg><a xlink:href='/drawn'><text>x</text></a></svg>"
    views = "".join(f"<a href='#/guide/{number}'>{number}</a>" for number in range(3))
    app = f"<title>app</title><p>{words_of('app', 60)}</p>{views}<a href='#!'>top</a><script>addEventListener</script>"
    pages = {
        "/": Page(raw=f'<title>x</title><iframe title=y srcdoc="{inside}"></iframe>{picture}<a href=/app>app</a>'),
        "/drawn": Page(
            raw=f"<title>d</title><p>{words_of('drawn', 20)}</p><a href='#!'>a</a><a href='#/'>b</a><script>1</script>"
        ),
        "/framed": Page(),
        "/app": Page(raw=app),
    }
    with serve_site(pages) as site:
        done = corral("crawl", f"{site.url}/", "--strategy", "http", "-o", "out.jsonl")
        lines = (corral.folder / "out.jsonl").read_text().splitlines()
        found = {each["url"].removeprefix(site.url): each for each in map(json.loads, lines)}
        assert set(found) == set(pages)
        assert words_of("inside", 20) in found["/"]["full_text"]
        assert done.code == 3, done.err
        assert "1 page with links to views inside the page" in done.err
        assert f"{site.url}/app" in done.err


def test_a_port_without_tls_is_said_to_be_one(corral: Corral) -> None:
    with serve_site({"/": Page()}) as site:
        done = corral("crawl", site.url.replace("http:", "https:"))
        assert done.code == 1
        assert "http:// instead of https://" in done.err
