"""Read RDFa: vocab, prefix, typeof, property, resource, content; and `rel` if it names a property."""

from selectolax.lexbor import LexborNode

from corral.extract.names.sources.entity import MAX_ENTITIES, Entity
from corral.extract.names.sources.microdata import find_once, value_of
from corral.extract.names.words.text import local_name
from corral.extract.page import Page

SOURCE = "rdfa"
_MAX_NODES = 10_000
# Prefixes of OpenGraph in `property` of meta elements, which are not RDFa.
_OPEN_GRAPH = frozenset(
    [
        "og",
        "article",
        "product",
        "book",
        "profile",
        "video",
        "music",
        "fb",
        "twitter",
        "al",
        "place",
        "business",
        "restaurant",
    ]
)
# Terms of older vocabularies, and the properties of schema.org for them.
_OLDER = {
    "dc:title": "headline",
    "dcterms:title": "headline",
    "dc:creator": "author",
    "dcterms:creator": "author",
    "sioc:has_creator": "author",
    "dc:date": "datePublished",
    "dc:created": "datePublished",
    "dcterms:date": "datePublished",
    "dcterms:created": "datePublished",
    "dcterms:issued": "datePublished",
    "dc:issued": "datePublished",
    "dcterms:modified": "dateModified",
    "dc:modified": "dateModified",
    "dc:description": "description",
    "dcterms:description": "description",
    "dc:subject": "keywords",
    "dcterms:subject": "keywords",
    "dc:publisher": "publisher",
    "dcterms:publisher": "publisher",
    "dc:language": "inLanguage",
    "dcterms:language": "inLanguage",
    "foaf:depiction": "image",
    "foaf:mbox": "email",
    "foaf:phone": "telephone",
    "gr:hascurrencyvalue": "price",
    "gr:hascurrency": "priceCurrency",
    "gr:haspricespecification": "priceSpecification",
    "gr:hasean_ucc-13": "gtin13",
    "gr:hasstockkeepingunit": "sku",
    "gr:hasmanufacturer": "manufacturer",
    "gr:hasbrand": "brand",
    "v:average": "ratingValue",
    "v:itemreviewed": "itemReviewed",
    "v:reviewer": "author",
    "v:dtreviewed": "datePublished",
    "v:tel": "telephone",
    "sioc:num_replies": "commentCount",
}
_ADDRESSES = frozenset(
    ["url", "sameas", "image", "photo", "logo", "contenturl", "embedurl", "thumbnailurl", "item", "availability"]
)
_LINKING = frozenset(("link", "a", "area", "img", "video", "audio", "source"))


def read_rdfa(page: Page) -> list[Entity]:
    if b"typeof" not in page.source and b"property=" not in page.source:
        return []
    nodes = [node for node in find_once(page, "[typeof], [property], [rel][resource]")[:_MAX_NODES] if _is_rdfa(node)]
    scopes: dict[int, Entity] = {}
    for node in nodes:
        if node.attributes.get("typeof") and len(scopes) < MAX_ENTITIES:
            types = tuple(local_name(name) for name in (node.attributes["typeof"] or "").split())
            scopes[node.mem_id] = Entity(SOURCE, types, _identity(page, node))
            scopes[node.mem_id].node = node
    by_id = {entity.identity: entity for entity in scopes.values() if entity.identity}
    loose = Entity(SOURCE)
    for node in nodes:
        names = [_term(name) for name in (node.attributes.get("property") or "").split()]
        names += [_term(name) for name in (node.attributes.get("rel") or "").split() if ":" in name]
        if names:
            owner = _scope_of(page, node, scopes, by_id) or loose
            for name in names:
                _add(page, owner, name, node, scopes)
        if node.mem_id in scopes and not names:
            _chain(page, node, scopes, by_id)
    entities = list(scopes.values())
    return [*entities, loose] if loose.properties else entities


def _is_rdfa(node: LexborNode) -> bool:
    """Return whether a node is RDFa and not a meta element of OpenGraph."""
    if node.tag != "meta":
        return True
    name = node.attributes.get("property") or ""
    return bool(name) and name.partition(":")[0].lower() not in _OPEN_GRAPH


def _identity(page: Page, node: LexborNode) -> str | None:
    found = node.attributes.get("resource") or node.attributes.get("about")
    return page.absolute(found) if found else None


def _scope_of(page: Page, node: LexborNode, scopes: dict[int, Entity], by_id: dict[str, Entity]) -> Entity | None:
    """Return the subject of a property: the entity of `about`, else of the nearest `typeof` or `resource` above."""
    # On an element with `typeof`, `about` is the identity of the new entity.
    about = node.attributes.get("about") if "typeof" not in node.attributes else None
    if about and page.absolute(about) in by_id:
        return by_id[page.absolute(about)]
    above = node.parent
    while above is not None:
        if above.mem_id in scopes:
            return scopes[above.mem_id]
        for name in ("about", "resource"):
            named = above.attributes.get(name)
            if named and page.absolute(named) in by_id:
                return by_id[page.absolute(named)]
        above = above.parent
    return None


def _add(page: Page, owner: Entity, name: str, node: LexborNode, scopes: dict[int, Entity]) -> None:
    nested = scopes.get(node.mem_id)
    if nested is not None:
        if nested is not owner:
            owner.add(name, nested)
            if len(node.css("[property]")) <= 1 and (text := value_of(page, node, is_address=False)):
                nested.add("name", text)
        return
    resource = node.attributes.get("resource")
    if not node.attributes.get("content") and resource and not (node.tag == "a" and page.text_of(node)):
        value: str | None = page.absolute(resource) if "schema.org/" not in resource else resource
    else:
        value = value_of(page, node, name.lower() in _ADDRESSES)
    if value:
        owner.add(name, value)


def _chain(page: Page, node: LexborNode, scopes: dict[int, Entity], by_id: dict[str, Entity]) -> None:
    """Add an entity to the owner of a `rel` around it: `<div rel="gr:hasPriceSpecification"><div typeof=…>`."""
    above = node.parent
    while above is not None and above.mem_id not in scopes:
        rel = above.attributes.get("rel") or ""
        if rel and above.tag not in ("a", "link", "area"):
            owner = _scope_of(page, above, scopes, by_id)
            if owner is not None:
                for name in rel.split():
                    owner.add(_term(name), scopes[node.mem_id])
            return
        above = above.parent


def _term(name: str) -> str:
    return _OLDER.get(name.lower()) or local_name(name)
