"""Read microformats 2: h-entry, h-product, h-card, h-event, h-recipe."""

from selectolax.lexbor import LexborNode

from corral.extract.names.sources.entity import MAX_ENTITIES, Entity
from corral.extract.names.sources.microdata import find_once, value_of
from corral.extract.page import Page

SOURCE = "microformats"
_MAX_NODES = 5_000
_MAX_NAME_CHARS = 80
_TYPES = {
    "h-entry": "BlogPosting",
    "h-product": "Product",
    "h-card": "Person",
    "h-event": "Event",
    "h-recipe": "Recipe",
    "h-review": "Review",
    "h-adr": "PostalAddress",
    "h-item": "Thing",
}
_TERMS = {
    "published": "datePublished",
    "updated": "dateModified",
    "photo": "image",
    "featured": "image",
    "summary": "description",
    "category": "keywords",
    "start": "startDate",
    "end": "endDate",
    "tel": "telephone",
    "adr": "address",
    "ingredient": "recipeIngredient",
    "yield": "recipeYield",
    "instructions": "recipeInstructions",
    "org": "worksFor",
    "content": "articleBody",
    "locality": "addressLocality",
    "region": "addressRegion",
    "postal-code": "postalCode",
    "country-name": "addressCountry",
    "street-address": "streetAddress",
}


def read_microformats(page: Page) -> list[Entity]:
    if not any(word in page.source for word in (b"h-entry", b"h-product", b"h-card", b"h-event", b"h-recipe")):
        return []
    nodes = find_once(page, '[class*="h-"], [class*="p-"], [class*="u-"], [class*="dt-"], [class*="e-"]')[:_MAX_NODES]
    scopes: dict[int, Entity] = {}
    for node in nodes:
        types = [_TYPES[name] for name in _classes(node) if name in _TYPES]
        if types and len(scopes) < MAX_ENTITIES:
            scopes[node.mem_id] = Entity(SOURCE, tuple(types))
            scopes[node.mem_id].node = node
    for node in nodes:
        for name in _classes(node):
            prefix, _, term = name.partition("-")
            if prefix in ("p", "u", "dt", "e") and term:
                _add(page, node, prefix, _TERMS.get(term, term), scopes)
    for node in nodes:
        entity = scopes.get(node.mem_id)
        is_card = entity is not None and not entity.properties and entity.types == ("Person",)
        if entity is not None and is_card and (text := page.text_of(node)) and len(text) <= _MAX_NAME_CHARS:
            entity.add("name", text)
    return list(scopes.values())


def _add(page: Page, node: LexborNode, prefix: str, name: str, scopes: dict[int, Entity]) -> None:
    above = node.parent
    while above is not None and above.mem_id not in scopes:
        above = above.parent
    if above is None:
        return
    owner, nested = scopes[above.mem_id], scopes.get(node.mem_id)
    value = nested if nested is not None else value_of(page, node, is_address=prefix == "u")
    if value:
        owner.add(name, value)


def _classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()
