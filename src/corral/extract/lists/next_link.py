"""Find the link to the next page of a list, by its label."""

import re
from collections.abc import Sequence

from corral.domain.lists.words import NEXT_NAMES, NEXT_SIGNS, NEXT_WORDS
from corral.extract.lists.page_links import PageLink

_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
# Ratings of the signs of a next link, the most reliable first.
REL, WORD, NAME, SIGN = 4, 3, 2, 1
_MAX_WORD_CHARS = 25


def find_next_link(links: Sequence[PageLink]) -> tuple[PageLink, int] | None:
    """Return the link with the best rating, and the rating; of equal ones the last: pagers are below their list."""
    rated = [(rate_next_link(link), index, link) for index, link in enumerate(links)]
    best = max(rated, key=lambda entry: entry[:2], default=None)
    return None if best is None or best[0] == 0 else (best[2], best[0])


def rate_next_link(link: PageLink) -> int:
    """Return the rating of a link; 0 if it does not lead to the next page."""
    if "next" in link.rel:
        return REL
    if any(_words_of(text) in NEXT_WORDS for text in (link.text, *link.labels) if text):
        return WORD
    if link.text.strip() in NEXT_SIGNS and link.is_in_paging:
        return SIGN
    # The class alone also marks links to the next article, with its title as the text.
    is_short = len(link.text) <= (_MAX_WORD_CHARS if link.is_in_paging else 3)
    return NAME if is_short and not NEXT_NAMES.isdisjoint(link.names) and not _is_number(link.text) else 0


def _words_of(text: str) -> str:
    return _EDGES.sub("", text).lower()


def _is_number(text: str) -> bool:
    return _words_of(text).isdigit()
