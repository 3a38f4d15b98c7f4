"""Find candidates for names with rules of their own: title, url, language, site_name, currency, category and others."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from corral.extract.names.candidates import BESIDE_FACTOR, NameCandidate
from corral.extract.names.guesses.shop import guess_price
from corral.extract.names.guesses.trails import guess_breadcrumbs
from corral.extract.names.main_entity import ORGANIZATIONS, PRODUCTS
from corral.extract.names.ordinary import find_candidates, find_structured, may_guess, read_path
from corral.extract.names.page_sources import PageSources
from corral.extract.names.shapes import shape
from corral.extract.names.sources.entity import Entity
from corral.extract.names.sources.trail import read_trails
from corral.extract.names.words.money import currency_in, is_code
from corral.extract.names.words.schema_paths import ENTITY_PATHS, META_NAMES
from corral.extract.names.words.text import clean_value, fold
from corral.extract.names.words.titles import agree_on, longest_segment, segment_equal, strip_site
from corral.extract.types.model import TypeContext

_TITLE_METAS = ("citation_title", "og:title", "dc.title", "dcterms.title", "twitter:title")
_EDGES = " |-–—·•»«:/\\>›_｜"


def find_title(sources: PageSources) -> Iterator[NameCandidate]:
    """Yield the name of the main entity; else the heading, if a meta element or the <title> confirms it; else those."""
    entity = _entity_title(sources)
    metas = [candidate for name in _TITLE_METAS if (candidate := _meta_title(sources, name)) is not None]
    own_title = _title_element(sources)
    others = [*metas, *own_title]
    heading = _heading(sources, [candidate.values[0] for candidate in (*entity, *others)])
    if entity and not _is_cut(entity, heading):
        yield from (*entity, *heading, *others)
        return
    agreeing = [each for each in others if heading and fold(each.values[0]) == fold(heading[0].values[0])]
    if heading and (agreeing or agree_on(heading[0].values[0], _titles(sources, others))):
        rest = [each for each in others if each not in agreeing]
        yield from (*agreeing, *heading, *rest)
        return
    yield from (*metas, *heading, *own_title)


def _is_cut(entity: list[NameCandidate], heading: list[NameCandidate]) -> bool:
    """Return whether the name is the beginning of the heading, cut for search engines."""
    name = entity[0].values[0]
    whole = heading[0].values[0] if heading else ""
    return name.endswith(("…", "...")) and fold(whole).startswith(fold(name))


def _titles(sources: PageSources, candidates: list[NameCandidate]) -> list[str]:
    return [*(candidate.values[0] for candidate in candidates), *([sources.page.title] if sources.page.title else [])]


def _entity_title(sources: PageSources) -> list[NameCandidate]:
    main = sources.subjects.main
    if main is None or main.has_type(ORGANIZATIONS):
        return []
    found = [read_path(sources, main, "title", path) for path in ENTITY_PATHS["title"]]
    candidates = [
        replace(each, values=(strip_site(each.values[0], sources.site),)) for each in found if each is not None
    ]
    # An entity may have both a name and a headline, one of which is a description.
    visible = [*sources.headings, *_titles(sources, [])]
    return [each for each in candidates if agree_on(each.values[0], visible)][:1] or candidates[:1]


def _meta_title(sources: PageSources, name: str) -> NameCandidate | None:
    text = sources.metas.first(name)
    return NameCandidate((strip_site(text, sources.site),), sources.metas.source(name)) if text else None


def _heading(sources: PageSources, others: list[str]) -> list[NameCandidate]:
    """Return the h1; of several, the one that another candidate confirms."""
    titles = [*others, *([sources.page.title] if sources.page.title else [])]
    agreeing = [text for text in sources.headings if agree_on(text, titles) and fold(text) not in sources.site]
    first = sources.heading
    text = agreeing[0] if agreeing and first not in agreeing else first
    # The name of the site is the title of its home page only.
    is_site = (
        bool(text) and fold(text or "") in sources.site and not any(fold(text or "") == fold(each) for each in titles)
    )
    return [NameCandidate((text,), "heuristic:h1")] if text and not is_site else []


def _title_element(sources: PageSources) -> list[NameCandidate]:
    title = clean_value(sources.page.title)
    if not title:
        return []
    heading = sources.heading
    if heading and segment_equal(title, heading) and fold(heading) not in sources.site:
        return [NameCandidate((heading,), "html:title")]
    shorter = strip_site(title, sources.site)
    return [NameCandidate((shorter if shorter != title else longest_segment(title),), "html:title", 0.8)]


def find_url(sources: PageSources) -> Iterator[NameCandidate]:
    if sources.canonical_url:
        yield NameCandidate((sources.canonical_url,), "html:canonical")
    own_title = sources.metas.first("og:url")
    if own_title:
        yield NameCandidate((sources.page.absolute(own_title),), "opengraph:og:url")
    if sources.url:
        yield NameCandidate((sources.url,), "html:address")


def find_language(sources: PageSources) -> Iterator[NameCandidate]:
    values = shape("language", [sources.language] if sources.language else [])
    if values:
        yield NameCandidate(values, "html:lang")
    yield from find_structured(sources, "language", "language")


def find_site_name(sources: PageSources) -> Iterator[NameCandidate]:
    for name in META_NAMES["site_name"]:
        text = sources.metas.first(name)
        if text:
            yield NameCandidate((text,), sources.metas.source(name))
    for entity in sources.subjects.sites:
        yield from _entity_name(entity, 1.0)
    tail = _site_in_title(sources)
    if tail:
        yield NameCandidate((tail,), "heuristic:title")
    for entity in sources.subjects.organizations:
        yield from _entity_name(entity, BESIDE_FACTOR**2)


def _entity_name(entity: Entity, factor: float) -> Iterator[NameCandidate]:
    text = entity.first("name")
    if text:
        yield NameCandidate((text,), f"{entity.source}:{entity.type_name}.name", factor)


def _site_in_title(sources: PageSources) -> str | None:
    """Return the segment of the <title> that names the site."""
    title = sources.page.title or ""
    stripped = strip_site(title, sources.site)
    if not stripped or stripped == title:
        return None
    start = title.find(stripped)
    rest = title[start + len(stripped) :] if start == 0 else title[:start]
    return rest.strip(_EDGES) or None


def find_currency(sources: PageSources) -> Iterator[NameCandidate]:
    """Yield ISO codes: of a declared currency, else of the currency sign in a price."""
    for candidate in find_structured(sources, "currency", "currency"):
        texts = [each.upper() if is_code(each.upper()) else _currency(sources, each) for each in candidate.values]
        codes = tuple(text for text in texts if text)
        if codes:
            yield NameCandidate(codes[:1], candidate.source, candidate.factor)
    for text, source in _price_texts(sources):
        code = _currency(sources, text)
        if code:
            yield NameCandidate((code,), f"derived:{source}")
            return


def _price_texts(sources: PageSources) -> Iterator[tuple[str, str]]:
    for candidate in find_candidates(sources, "price", "price"):
        yield candidate.values[0], candidate.source
    for name in ("price", "currency", "salary"):
        yield from ((row.values[0], row.source) for row in sources.labels.find(name, name) if not row.is_beside)
    if may_guess(sources, "price"):
        values, by = guess_price(sources.elements)
        yield from ((value, f"heuristic:{by}") for value in values)


def _currency(sources: PageSources, text: str) -> str | None:
    return currency_in(text, TypeContext(sources.language, sources.url))


def find_breadcrumbs(sources: PageSources) -> Iterator[NameCandidate]:
    yield from read_trails(sources.entities)
    crumbs, by = guess_breadcrumbs(sources.elements)
    if crumbs:
        yield NameCandidate(tuple(crumbs), f"heuristic:{by}")


def find_category(sources: PageSources) -> Iterator[NameCandidate]:
    yield from find_candidates(sources, "category", "category") or _category_in_trail(sources)


def _category_in_trail(sources: PageSources) -> list[NameCandidate]:
    """Return, for a product, the last step of the breadcrumbs before the product itself."""
    main = sources.subjects.main
    is_product = sources.elements.sells or (main is not None and main.has_type(PRODUCTS))
    trail = next(find_breadcrumbs(sources), None) if is_product else None
    if trail is None:
        return []
    title = next(find_title(sources), None)
    steps = [step for step in trail.values if title is None or fold(step) != fold(title.values[0])]
    if len(steps) < 2 and len(steps) == len(trail.values):
        return []
    return [NameCandidate((steps[-1],), f"derived:{trail.source}")] if steps else []


def find_content(sources: PageSources) -> Iterator[NameCandidate]:
    text = sources.readable.text
    if text:
        yield NameCandidate((text,), "readable:text")


def find_markdown(sources: PageSources) -> Iterator[NameCandidate]:
    markdown = sources.readable.markdown
    if markdown:
        yield NameCandidate((markdown,), "readable:markdown")


def find_html(sources: PageSources) -> Iterator[NameCandidate]:
    html = sources.readable.html
    if html:
        yield NameCandidate((html,), "readable:html")


def find_word_count(sources: PageSources) -> Iterator[NameCandidate]:
    yield from find_structured(sources, "word_count", "wordcount")
    count = len(sources.readable.text.split())
    if count:
        yield NameCandidate((str(count),), "readable:word_count")


SPECIAL: dict[str, Callable[[PageSources], Iterator[NameCandidate]]] = {
    "title": find_title,
    "url": find_url,
    "language": find_language,
    "site_name": find_site_name,
    "currency": find_currency,
    "breadcrumbs": find_breadcrumbs,
    "category": find_category,
    "text": find_content,
    "content_markdown": find_markdown,
    "content_html": find_html,
    "word_count": find_word_count,
}
