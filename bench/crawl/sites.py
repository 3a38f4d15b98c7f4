"""The two sites that are crawled: pages made for it, and a real documentation."""

from __future__ import annotations

from bench.model import Place
from bench.pages import path_of

_FIRST = {"site": path_of(0), "docs": "index.html"}


def start_of(place: Place) -> str:
    """Where the crawl begins."""
    name = next(name for name in _FIRST if name in place.services)
    return place.services[name].url + _FIRST[name]
