"""Read microdata: itemscope, itemprop, itemref."""

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.zones import MAX_LEVELS, is_beside
from corral.extract.names.sources.entity import MAX_ENTITIES, Entity
from corral.extract.names.words.text import clean_value, local_name
from corral.extract.page import Page

SOURCE = "microdata"
_MAX_NODES = 10_000
_MAX_REFERENCES = 100
_URL_OF = {"link": "href", "img": "src", "audio": "src", "video": "src", "source": "src", "embed": "src"}
_URL_OF |= {"iframe": "src", "track": "src", "object": "data"}
# Properties whose value is the URL of a link. For others, pages mean its text, as in <a itemprop="author">.
_ADDRESSES = frozenset(
    [
        "url",
        "sameas",
        "image",
        "photo",
        "logo",
        "contenturl",
        "embedurl",
        "thumbnailurl",
        "item",
        "mainentityofpage",
        "availability",
        "itemcondition",
        "discussionurl",
        "downloadurl",
        "hasmap",
        "menu",
        "license",
        "installurl",
    ]
)


def read_microdata(page: Page) -> list[Entity]:
    if b"itemscope" not in page.source and b"itemprop" not in page.source:
        return []
    scopes: dict[int, Entity] = {}
    nodes = find_once(page, "[itemscope], [itemprop]")[:_MAX_NODES]
    for node in nodes:
        if "itemscope" in node.attributes and len(scopes) < MAX_ENTITIES:
            attributes = node.attributes
            types = tuple(local_name(name) for name in (attributes.get("itemtype") or "").split())
            scopes[node.mem_id] = Entity(SOURCE, types, attributes.get("itemid"))
            scopes[node.mem_id].node = node
    owners = _owners_by_reference(page, nodes, scopes)
    loose = Entity(SOURCE)
    for node in nodes:
        names = (node.attributes.get("itemprop") or "").split()
        if names:
            owner = owners.get(node.mem_id) or _scope_above(node, scopes) or loose
            if owner is loose and is_beside(node):
                continue
            for name in names:
                _add(page, owner, local_name(name), node, scopes)
    entities = list(scopes.values())
    return [*entities, loose] if loose.properties else entities


def find_once(page: Page, selector: str) -> list[LexborNode]:
    """Return each matching element once, even if several parts of the selector match it."""
    return list({node.mem_id: node for node in page.tree.css(selector)}.values())


def _add(page: Page, owner: Entity, name: str, node: LexborNode, scopes: dict[int, Entity]) -> None:
    nested = scopes.get(node.mem_id)
    if nested is not None:
        if nested is not owner:
            owner.add(name, nested)
            if not nested.properties:
                _name_by_text(page, nested, node)
        return
    value = value_of(page, node, name.lower() in _ADDRESSES)
    if value:
        owner.add(name, value)


def _name_by_text(page: Page, nested: Entity, node: LexborNode) -> None:
    """Use the text as the name of a scope without properties: `<span itemprop="author" itemscope>Jane</span>`."""
    if len(node.css("[itemprop]")) <= 1:  # itself
        value = clean_value(node.attributes.get("content")) or page.text_of(node)
        if value:
            nested.add("name", value)


def value_of(page: Page, node: LexborNode, is_address: bool) -> str | None:
    attributes = node.attributes
    tag = node.tag or ""
    if attributes.get("content"):
        return clean_value(attributes["content"])
    if tag in _URL_OF:
        url = attributes.get(_URL_OF[tag]) or attributes.get("data-src")
        return page.absolute(url) if url and not _is_schema_term(url) else url
    if tag in ("a", "area") and is_address and attributes.get("href"):
        return page.absolute(attributes["href"] or "")
    if tag == "time" and attributes.get("datetime"):
        return clean_value(attributes["datetime"])
    if tag in ("data", "meter", "input") and attributes.get("value"):
        return clean_value(attributes["value"])
    return page.text_of(node)


def _is_schema_term(url: str) -> bool:
    return "schema.org/" in url


def _scope_above(node: LexborNode, scopes: dict[int, Entity]) -> Entity | None:
    above = node.parent
    for _ in range(MAX_LEVELS):
        found = scopes.get(above.mem_id) if above is not None else None
        if found is not None or above is None:
            return found
        above = above.parent
    return None


def _owners_by_reference(page: Page, nodes: list[LexborNode], scopes: dict[int, Entity]) -> dict[int, Entity]:
    """Return the scope of each element that an `itemref` elsewhere refers to."""
    owners: dict[int, Entity] = {}
    for node in [node for node in nodes if node.attributes.get("itemref")][:_MAX_REFERENCES]:
        for name in (node.attributes.get("itemref") or "").split()[:20]:
            scope = scopes.get(node.mem_id)
            root = _by_id(page, name)
            if scope is None or root is None:
                continue
            inside = [root, *root.css("[itemprop]")]
            for element in inside[:_MAX_NODES]:
                if "itemprop" in element.attributes and _is_outermost(element, root, scopes):
                    owners[element.mem_id] = scope
    return owners


def _by_id(page: Page, name: str) -> LexborNode | None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return next(iter(page.by_css(f'[id="{quoted}"]')), None)


def _is_outermost(node: LexborNode, root: LexborNode, scopes: dict[int, Entity]) -> bool:
    """Return whether a node is not inside another scope below the referenced element."""
    if node.mem_id == root.mem_id:
        return True
    above = node.parent
    while above is not None and above.mem_id != root.mem_id:
        if above.mem_id in scopes:
            return False
        above = above.parent
    return root.mem_id not in scopes
