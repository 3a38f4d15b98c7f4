"""The score of a URL in a crawl with order=best: a sum of a few points.

| reason | points |
|:--|--:|
| each link between it and the start | -1 |
| each keyword in its address or in the text of the link, up to three | +3 |
| the priority its sitemap gives it, 0 to 1 | -0.5 to +0.5 |
| changed within a week, by its sitemap; within a month | +0.5; +0.25 |
| a query: lists and filters more often than contents | -0.5 |
| each folder beyond the third | -0.25 |
"""

from collections.abc import Sequence
from datetime import date

_KEYWORD, _MAX_KEYWORDS = 3.0, 3
_QUERY = 0.5
_FOLDER, _FREE_FOLDERS = 0.25, 3
_FRESH = ((7, 0.5), (30, 0.25))  # days, points


def score_of(
    url: str,
    depth: int,
    keywords: Sequence[str],
    text: str = "",
    priority: float | None = None,
    *,
    age_days: int | None = None,
) -> float:
    """Return the score of a canonical URL. `keywords` are in lower case."""
    path_at = url.find("/", 8)
    path, _, query = url[path_at:].lower().partition("?")
    words = f"{path} {query} {text.lower()}"
    named = sum(keyword in words for keyword in keywords)
    folders = path.count("/") - _FREE_FOLDERS
    return (
        -depth
        + _KEYWORD * min(named, _MAX_KEYWORDS)
        + (0.0 if priority is None else priority - 0.5)
        + _freshness(age_days)
        - (_QUERY if query else 0.0)
        - _FOLDER * max(0, folders)
    )


def age_in_days(lastmod: str | None, today: date) -> int | None:
    """Return the age by the lastmod of a sitemap; None without one, or if it is in the future."""
    try:
        age = (today - date.fromisoformat((lastmod or "")[:10])).days
    except ValueError:
        return None
    return age if age >= 0 else None


def _freshness(age_days: int | None) -> float:
    if age_days is None:
        return 0.0
    return next((points for days, points in _FRESH if age_days <= days), 0.0)
