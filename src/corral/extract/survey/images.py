"""Read the images of a page with their captions, its links, and whether it forbids training on its images."""

import re
from collections.abc import Iterable
from typing import Any

from selectolax.lexbor import LexborNode

from corral.extract.links import links_of
from corral.extract.page import Page, normalize_space

MAX_IMAGES = 10_000
MAX_LINKS = 5_000
_MAX_CAPTION_CHARS = 500
_FORBIDS_TRAINING = frozenset({"noai", "noimageai"})
_CANDIDATE = re.compile(r"\s*,*\s*(\S*[^\s,])(?:\s+([\d.]+)([wx]))?\s*(?:,|$)")
# Attributes for the URL of an image that a script loads later.
_LAZY = ("data-src", "data-original", "data-lazy-src")
_ROBOT = re.compile(r"\s*([\w*.-]+)\s*:\s*(.*)", re.DOTALL)


def read_images(page: Page) -> dict[str, Any]:
    """Return the images as `[url, caption]` in document order, each URL once, with the links of the page."""
    found: dict[str, str] = {}
    for node in page.by_css("img, picture source"):
        url = _largest(page, node)
        if url and (url not in found or not found[url]) and len(found) < MAX_IMAGES:
            found[url] = _caption(page, node)
    for node in page.by_css("a[href]"):  # a thumbnail that links to the full image
        href = node.attributes.get("href") or ""
        if _is_image_address(href) and node.css_first("img") is not None:
            thumbnail = node.css_first("img")
            found.setdefault(page.absolute(href), _caption(page, thumbnail) if thumbnail is not None else "")
    links = links_of(page, limit=MAX_LINKS)
    return {
        "images": [[url, caption] for url, caption in found.items() if url.startswith(("http://", "https://"))],
        "links": [page.absolute(reference) for reference in links.references if reference not in links.nofollow],
        "title": page.title or "",
        "noai": _has_noai_meta(page),
        "links_dropped": links.dropped,
    }


def forbids_training(tags: Iterable[str], agent: str) -> bool:
    """Return whether X-Robots-Tag headers have `noai` or `noimageai` for all robots or for this one."""
    ours = {word.partition("/")[0].lower() for word in agent.split()}
    for tag in tags:
        addressed = _ROBOT.match(tag)
        if addressed is not None and addressed[1].lower() not in ours | {"*"}:
            continue
        if _has_noai(addressed[2] if addressed is not None else tag):
            return True
    return False


def _has_noai(text: str) -> bool:
    return not _FORBIDS_TRAINING.isdisjoint(word.strip().lower() for word in text.split(","))


def _has_noai_meta(page: Page) -> bool:
    return any(
        _has_noai(node.attributes.get("content") or "")
        for node in page.by_css("meta[name]")
        if (node.attributes.get("name") or "").strip().lower() == "robots"
    )


def _largest(page: Page, node: LexborNode) -> str:
    """Return the largest candidate of srcset, else the URL in another attribute."""
    attributes = node.attributes
    srcset = attributes.get("srcset") or attributes.get("data-srcset") or ""
    best, best_weight = "", -1.0
    for url, size, _ in _CANDIDATE.findall(srcset):
        weight = float(size) if size and size.count(".") <= 1 and size != "." else 1.0
        if weight > best_weight and not url.startswith("data:"):
            best, best_weight = url, weight
    if not best:
        sources = [attributes.get(name) for name in _LAZY] + [attributes.get("src")]
        best = next((each for each in sources if each and not each.startswith("data:")), "")
    return page.absolute(best.strip()) if best else ""


def _caption(page: Page, node: LexborNode) -> str:
    """Return the alternative text, the caption of the figure, or the title."""
    image = node
    if node.tag == "source" and node.parent is not None:
        image = node.parent.css_first("img") or node
    for value in (image.attributes.get("alt"), _figure_caption(page, node), image.attributes.get("title")):
        text = normalize_space(value)
        if text:
            return text[:_MAX_CAPTION_CHARS]
    return ""


def _figure_caption(page: Page, node: LexborNode) -> str | None:
    above, steps = node.parent, 0
    while above is not None and steps < 4:
        if above.tag == "figure":
            return page.text_of(above.css_first("figcaption"))
        above, steps = above.parent, steps + 1
    return None


def _is_image_address(href: str) -> bool:
    path = href.partition("?")[0].partition("#")[0].lower()
    return path.endswith((".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif", ".heic", ".bmp", ".tif", ".tiff"))
