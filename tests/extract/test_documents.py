"""Text and links of what is not HTML."""

import json

import pytest

from corral.extract.documents import document_of


@pytest.mark.parametrize(
    "content_type, text, links",
    [
        ("text/plain", "See https://a.test/x. Or (https://a.test/y_(z)), or ftp://a.test/", ("x", "y_(z)")),
        (
            "text/markdown",
            "[one](/1) ![two](2.png) [mail](mailto:a@b.c) [three](<https://a.test/3#part>)",
            ("3", "/1", "2.png"),
        ),
        ("application/json", '{"url": "/1", "name": "/not", "more": {"next": "?p=2"}, "x": "https://a.test/3"}', None),
        ("application/json", "https://a.test/broken {", ("broken",)),
        ("text/css", "@import 'https://a.test/x.css'", ()),
        ("application/javascript", "fetch('https://a.test/api')", ()),
    ],
)
def test_links_are_found_where_they_are_meant(content_type: str, text: str, links: tuple[str, ...] | None) -> None:
    found = [each.removeprefix("https://a.test/") for each in document_of(text, content_type, None).links.references]
    assert tuple(found) == (("/1", "?p=2", "3") if links is None else links)


def test_no_link_of_a_large_document_is_lost() -> None:
    text = json.dumps([{"id": number, "url": f"https://a.test/{number}"} for number in range(150_000)])
    assert len(document_of(text, "application/json", None).links.references) == 150_000
