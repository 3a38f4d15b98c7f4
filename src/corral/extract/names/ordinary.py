"""Find candidates for ordinary names: in entities, meta elements and labels, and by heuristics over elements."""

from collections.abc import Callable, Iterator
from itertools import islice

from corral.extract.names.candidates import BESIDE_FACTOR, NameCandidate
from corral.extract.names.guesses.bylines import guess_author, guess_date, guess_modified
from corral.extract.names.guesses.contact import guess_address, guess_email, guess_phone
from corral.extract.names.guesses.elements import Guess, PageElements
from corral.extract.names.guesses.media import guess_audio, guess_image, guess_video
from corral.extract.names.guesses.shop import (
    guess_availability,
    guess_comments_count,
    guess_price,
    guess_rating,
    guess_review_count,
)
from corral.extract.names.guesses.trails import guess_tags
from corral.extract.names.main_entity import ARTICLES, ORGANIZATIONS, PRODUCTS
from corral.extract.names.page_sources import PageSources
from corral.extract.names.shapes import shape, shape_label
from corral.extract.names.sources.entity import Entity
from corral.extract.names.sources.entity_text import texts_of
from corral.extract.names.sources.labels import LabelRow
from corral.extract.names.words.label_words import DATE_WORDS, names_of_label
from corral.extract.names.words.schema_paths import ENTITY_PATHS, META_NAMES
from corral.extract.names.words.text import plain
from corral.extract.types.address import convert_address
from corral.extract.types.model import TypeContext

_URL_NAMES = frozenset(("image", "images", "video", "audio", "license", "pdf", "url"))
# Names that the entity of the page itself may fill as well as the main entity.
_OF_PAGE = frozenset(
    ("author", "date", "modified", "description", "image", "language", "publisher", "section", "tags", "license")
)
_OF_ORGANIZATION = frozenset(
    [
        *("address", "street", "city", "postal_code", "region", "country", "latitude", "longitude"),
        *("phone", "fax", "email", "opening_hours"),
    ]
)
# Guessed only if the page is about a product, or has no main entity.
_OF_PRODUCTS = frozenset(("price", "availability", "rating", "review_count", "rating_count"))
_OF_TEXTS = frozenset(("author", "date"))
# Other labels that stand for a name if the page has no label of its own for it.
_OTHER_LABELS = {
    "brand": ("manufacturer",),
    "job_location": ("location", "city"),
    "location": ("venue", "job_location"),
    "venue": ("location",),
}
_PARTS_OF_ADDRESS = frozenset(("street", "city", "postal_code"))
_DATED = frozenset(("date", "modified", "start_date", "end_date", "valid_through"))
_WEAK_TAGS = frozenset(("keywords", "news_keywords"))

GUESSES: dict[str, Callable[[PageElements], Guess]] = {
    "author": guess_author,
    "date": guess_date,
    "modified": guess_modified,
    "price": guess_price,
    "rating": guess_rating,
    "review_count": guess_review_count,
    "rating_count": guess_review_count,
    "comments_count": guess_comments_count,
    "availability": guess_availability,
    "email": guess_email,
    "phone": guess_phone,
    "address": guess_address,
    "tags": guess_tags,
    "image": guess_image,
    "video": guess_video,
    "audio": guess_audio,
}


def find_candidates(sources: PageSources, canonical_name: str, key: str) -> list[NameCandidate]:
    """Return the candidates of structured data and meta elements; if there are none, the best of the text."""
    found = list(find_structured(sources, canonical_name, key))
    return found or list(islice(find_unstructured(sources, canonical_name, key), 1))


def find_structured(sources: PageSources, canonical_name: str, key: str) -> Iterator[NameCandidate]:
    for entity, factor in _eligible_entities(sources, canonical_name):
        for path in _paths(canonical_name, key):
            candidate = read_path(sources, entity, canonical_name, path, factor)
            if candidate is not None:
                yield candidate
                break
    yield from _from_metas(sources, canonical_name, key)


def _paths(canonical_name: str, key: str) -> dict[str, None]:
    return dict.fromkeys((key, *ENTITY_PATHS.get(canonical_name, ())))


def _eligible_entities(sources: PageSources, canonical_name: str) -> Iterator[tuple[Entity, float]]:
    """Yield the entities that may have a value for this name, the best first, each with a confidence factor."""
    subjects = sources.subjects
    main = subjects.main
    if main is not None and not (canonical_name in _OF_TEXTS and main.has_type(ORGANIZATIONS)):
        yield main, 1.0
    yield from ((entity, 1.0) for entity in subjects.same)
    # Properties of an entity without a type describe the page as a whole.
    is_of_page = canonical_name in _OF_PAGE or canonical_name not in ENTITY_PATHS
    yield from ((entity, BESIDE_FACTOR) for entity in subjects.pages if is_of_page or not entity.types)
    if canonical_name in _OF_ORGANIZATION:
        yield from ((entity, BESIDE_FACTOR**2) for entity in subjects.organizations)


def read_path(
    sources: PageSources, entity: Entity, canonical_name: str, path: str, factor: float = 1.0
) -> NameCandidate | None:
    texts: list[str] = []
    label = ""
    for value, spelling in entity.follow(path):
        found = [text for text in texts_of(canonical_name, value) if text]
        texts += found
        label = label or (spelling if found else "")
    if canonical_name in _URL_NAMES:
        texts = [sources.page.absolute(text) for text in texts if not text.startswith("data:")]
    values = shape(canonical_name, texts)
    # Properties outside any entity may belong to several things.
    is_mixed = not entity.types and entity.source != "json-ld" and (canonical_name == "title" or len(values) > 1)
    return NameCandidate(values, f"{entity.source}:{label}", factor) if values and not is_mixed else None


def _from_metas(sources: PageSources, canonical_name: str, key: str) -> Iterator[NameCandidate]:
    metas = sources.metas
    for name in META_NAMES.get(canonical_name) or metas.names_like(key):
        # Meta keywords are written for search engines: visible tags are better.
        if name in _WEAK_TAGS and guess_tags(sources.elements)[0]:
            continue
        texts = metas.get(name)
        if canonical_name in _URL_NAMES:
            texts = [sources.page.absolute(text) for text in texts]
        values = shape(canonical_name, texts)
        if values:
            yield NameCandidate(values, metas.source(name))
    for label, value in metas.labels:
        if plain(label) == key or canonical_name in names_of_label(label):
            values = shape_label(canonical_name, (value,))
            if values:
                yield NameCandidate(values, f"twitter:{label}")


def find_unstructured(sources: PageSources, canonical_name: str, key: str) -> Iterator[NameCandidate]:
    rows = sources.labels.find(canonical_name, key) or [
        row for other in _OTHER_LABELS.get(canonical_name, ()) for row in sources.labels.find(other, other)
    ]
    if canonical_name == "start_date" and not rows and not _is_text(sources):
        rows = [row for row in sources.labels.find("date", "date") if plain(row.label) in DATE_WORDS]
    for row in rows:
        values = shape_label(canonical_name, _times_of(row) if canonical_name in _DATED else ()) or shape_label(
            canonical_name, row.values
        )
        if values and not (row.is_beside and canonical_name in _OF_TEXTS):
            yield NameCandidate(values, row.source)
    guess = GUESSES.get(canonical_name)
    if guess is not None and may_guess(sources, canonical_name):
        texts, method = guess(sources.elements)
        values = shape(canonical_name, texts)
        if values:
            yield NameCandidate(values, f"heuristic:{method}")
    if canonical_name in _PARTS_OF_ADDRESS:
        yield from _part_of_address(sources, canonical_name)
    yield from _from_items(sources, canonical_name, key)


def _part_of_address(sources: PageSources, canonical_name: str) -> Iterator[NameCandidate]:
    """Yield a part of an address with a postal code that the page has as one text."""
    for whole in find_unstructured(sources, "address", "address"):
        parts = convert_address(whole.values[0], TypeContext(sources.language, sources.url)).value or {}
        street = " ".join(part for part in (parts.get("street"), parts.get("house_number")) if part)
        text = street if canonical_name == "street" else parts.get(canonical_name)
        if text and parts.get("postal_code"):
            yield NameCandidate((text,), f"derived:{whole.source}")


def _times_of(row: LabelRow) -> tuple[str, ...]:
    """Return the machine-readable time of a value with exactly one <time>."""
    times = row.node.css("time[datetime]")
    return (times[0].attributes.get("datetime") or "",) if len(times) == 1 else ()


def _is_text(sources: PageSources) -> bool:
    main = sources.subjects.main
    kind = (sources.metas.first("og:type") or "").lower()
    return (main is not None and main.has_type(ARTICLES)) or kind == "article"


def may_guess(sources: PageSources, canonical_name: str) -> bool:
    main = sources.subjects.main
    kind = (sources.metas.first("og:type") or "").lower()
    is_product = (main is not None and main.has_type(PRODUCTS)) or "product" in kind
    is_text = _is_text(sources)
    if canonical_name in _OF_PRODUCTS:
        is_open = not is_text and (main is None or sources.elements.sells)
        # An amount on the page of a job is a salary.
        return is_product or (is_open and not sources.labels.find("salary", "salary"))
    if canonical_name in _OF_TEXTS:
        return not is_product and (is_text or not sources.elements.sells)
    return True


def _from_items(sources: PageSources, canonical_name: str, key: str) -> Iterator[NameCandidate]:
    """Yield the values of the items, for a page that is a list."""
    subjects = sources.subjects
    if subjects.main is not None or canonical_name in _OF_PAGE:
        return
    values: list[str] = []
    for entity in subjects.listed:
        found = (read_path(sources, entity, canonical_name, path) for path in _paths(canonical_name, key))
        candidate = next((each for each in found if each is not None), None)
        if candidate is not None:
            values.append(candidate.values[0])
    if values:
        yield NameCandidate(tuple(values), f"list:{subjects.listed[0].type_name}.{key}")
