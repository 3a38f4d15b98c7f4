"""The sources of one page, each read at most once and only when a name needs it."""

from selectolax.lexbor import LexborNode

from corral.extract.lazy import lazy_property
from corral.extract.names.guesses.elements import PageElements, is_site_heading
from corral.extract.names.main_entity import PageFacts, Subjects, choose_main, url_key
from corral.extract.names.sources.entity import Entity
from corral.extract.names.sources.json_ld import read_json_ld
from corral.extract.names.sources.labels import Labels
from corral.extract.names.sources.metas import Metas
from corral.extract.names.sources.microdata import read_microdata
from corral.extract.names.sources.microformats import read_microformats
from corral.extract.names.sources.rdfa import read_rdfa
from corral.extract.names.words.text import fold
from corral.extract.names.words.titles import host_of, site_words, strip_site
from corral.extract.page import Page, normalize_space
from corral.extract.readable import Readable, readable_of

_MAX_HEADINGS = 20
_BLOCKS = "p, table, form, ul, ol, dl, hr, h2, h3, h4"
_BLOCK_TAGS = frozenset(_BLOCKS.split(", "))


def _text_before_blocks(node: LexborNode | None) -> str | None:
    """Return the text of a heading without an end tag, up to the first block in it; None if it has no block."""
    if node is None or node.css_first(_BLOCKS) is None:
        return None
    pieces: list[str] = []
    for inner in node.traverse(include_text=True):
        if inner.tag in _BLOCK_TAGS:
            break
        if inner.tag == "-text":
            pieces.append(inner.text_content or "")
    return normalize_space(" ".join(pieces))


class PageSources:
    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url or page.base_url
        self.host = host_of(self.url)

    @lazy_property
    def metas(self) -> Metas:
        return Metas(self.page)

    @lazy_property
    def labels(self) -> Labels:
        return Labels(self.page)

    @lazy_property
    def elements(self) -> PageElements:
        return PageElements(self.page)

    @lazy_property
    def readable(self) -> Readable:
        return readable_of(self.page)

    @lazy_property
    def entities(self) -> list[Entity]:
        page = self.page
        return [*read_json_ld(page), *read_microdata(page), *read_rdfa(page), *read_microformats(page)]

    @lazy_property
    def subjects(self) -> Subjects:
        named = (self.url, self.canonical_url or "", self.metas.first("og:url") or "")
        urls = frozenset(key for url in named if url and (key := url_key(self.page.absolute(url))))
        names = [name for name in (self.page.title, self.metas.first("og:title"), *self.headings) if name]
        folded = {fold(each) for name in names for each in (name, strip_site(name, self.site))}
        kind = (self.metas.first("og:type") or "").lower() or None
        facts = PageFacts(urls, frozenset(folded), fold(self.heading or ""), self._is_home, kind)
        return choose_main(self.entities, facts)

    @property
    def _is_home(self) -> bool:
        return url_key(self.url) == url_key(self.url).partition("/")[0]

    @lazy_property
    def headings(self) -> list[str]:
        return [text for node in self.page.tree.css("h1")[:_MAX_HEADINGS] if (text := self._heading_text(node))]

    @lazy_property
    def heading(self) -> str | None:
        """The text of the h1 about the subject, not of the logo."""
        return self._heading_text(self.elements.heading)

    def _heading_text(self, node: LexborNode | None) -> str | None:
        """Return the text without a trailing permalink sign, as documentation has it."""
        text = _text_before_blocks(node) or self.page.text_of(node)
        return text.rstrip(" ¶#§🔗\uf0c1") or text if text else None

    @lazy_property
    def canonical_url(self) -> str | None:
        node = self.page.tree.css_first('link[rel~="canonical"][href]')
        return self.page.absolute(node.attributes["href"] or "") if node is not None else None

    @lazy_property
    def site(self) -> frozenset[str]:
        """The names of the site, folded."""
        sites = [entity.first("name") for entity in self.entities if "WebSite" in entity.types]
        names = (*self.metas.get("og:site_name"), *self.metas.get("application-name"), *sites)
        headings = self.page.tree.css("h1")[:_MAX_HEADINGS]
        logos = [text for node in headings if is_site_heading(node) and (text := self.page.text_of(node))]
        return site_words(self.host, *names, *(logos if self._is_inner_page(logos) else ()))

    def _is_inner_page(self, logos: list[str]) -> bool:
        """Return False for the home page of a site, whose title is the name of the site."""
        title = fold(self.page.title or "")
        return any(text not in logos for text in self.headings) or all(fold(logo) != title for logo in logos)

    @lazy_property
    def language(self) -> str | None:
        node = self.page.tree.css_first("html")
        return node.attributes.get("lang") or node.attributes.get("xml:lang") if node is not None else None
