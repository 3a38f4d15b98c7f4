"""Guess images, videos and audio."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.elements import NOTHING, Guess, PageElements, is_inside
from corral.extract.names.guesses.zones import is_beside
from corral.extract.names.words.text import fold


def guess_image(elements: PageElements) -> Guess:
    link = elements.page.tree.css_first('link[rel="image_src"]')
    if link is not None and link.attributes.get("href"):
        return [elements.page.absolute(link.attributes["href"] or "")], "link:image_src"
    for selector in (
        "#main-image, .product-image img, .product-gallery img, .gallery img, .product__media img,"
        " #landingImage, .woocommerce-product-gallery img",
        "article img, main img, [role=main] img, #content img, .content img",
        "img",
    ):
        for node in elements.page.tree.css(selector)[:50]:
            url = _image_url(node)
            if (
                url
                and not _is_decoration(node, url)
                and not is_beside(node)
                and not is_inside(node, ("header", "nav", "footer"))
            ):
                return [elements.page.absolute(url)], "img"
    return NOTHING


def guess_video(elements: PageElements) -> Guess:
    return _guess_media(elements, "video")


def guess_audio(elements: PageElements) -> Guess:
    return _guess_media(elements, "audio")


def _guess_media(elements: PageElements, tag: str) -> Guess:
    for node in elements.page.tree.css(f"{tag}[src], {tag} source[src]")[:10]:
        return [elements.page.absolute(node.attributes.get("src") or "")], tag
    if tag == "video":
        for node in elements.page.tree.css("iframe[src]")[:50]:
            url = node.attributes.get("src") or ""
            if re.search(
                r"youtube(?:-nocookie)?\.com/embed|player\.vimeo\.com|dailymotion\.com/embed", url
            ) and not is_beside(node):
                return [elements.page.absolute(url)], "iframe"
    return NOTHING


def _image_url(node: LexborNode) -> str | None:
    attributes = node.attributes
    url = attributes.get("src") or ""
    if not url or url.startswith("data:"):
        url = (
            attributes.get("data-src")
            or attributes.get("data-lazy-src")
            or (attributes.get("srcset") or "").split(" ")[0]
        )
    return url if url and not url.startswith("data:") else None


def _is_decoration(node: LexborNode, url: str) -> bool:
    attributes = node.attributes
    for name in ("width", "height"):
        size = attributes.get(name) or ""
        if size.isdigit() and int(size) < 80:
            return True
    words = fold(f"{url.rpartition('/')[2]} {attributes.get('class') or ''} {attributes.get('alt') or ''}"[:200])
    return any(
        word in words for word in ("logo", "icon", "avatar", "sprite", "pixel", "spacer", "emoji", "badge", "banner")
    ) or url.endswith(".svg")
