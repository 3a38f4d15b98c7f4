"""Read JSON-LD: blocks, lists, `@graph`, references by `@id`, nesting."""

from typing import Any

from corral.extract.names.sources.entity import MAX_ENTITIES, Entity
from corral.extract.names.sources.json_repair import load_json
from corral.extract.names.words.text import clean_value, local_name
from corral.extract.page import Page

SOURCE = "json-ld"
_MAX_BLOCKS = 50
_MAX_DEPTH = 24
_SELECTOR = 'script[type^="application/ld+json" i]'


def read_json_ld(page: Page) -> list[Entity]:
    """Return all entities in document order, each before those inside it."""
    if b"ld+json" not in page.source:
        return []
    reader = _Reader()
    for script in page.tree.css(_SELECTOR)[:_MAX_BLOCKS]:
        for document in load_json(script.text(deep=True)):
            reader.read_document(document)
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self._entities: list[Entity] = []
        self._by_id: dict[str, Entity] = {}
        self._references: list[tuple[Entity, str, str]] = []

    def read_document(self, document: Any, depth: int = 0) -> None:
        if isinstance(document, list) and depth < _MAX_DEPTH:
            for entry in document:
                self.read_document(entry, depth + 1)
        elif isinstance(document, dict):
            graph = document.get("@graph")
            if isinstance(graph, list | dict) and depth < _MAX_DEPTH:
                self.read_document(graph, depth + 1)
            if graph is None or any(not key.startswith("@") for key in document):
                self._read_object(document, depth)

    def _read_object(self, document: dict[str, Any], depth: int) -> Entity | None:
        if len(self._entities) >= MAX_ENTITIES or depth > _MAX_DEPTH:
            return None
        identity = document.get("@id")
        identity = identity if isinstance(identity, str) and identity else None
        entity = Entity(SOURCE, _types(document.get("@type", document.get("type"))), identity)
        earlier = self._by_id.get(identity) if identity else None
        if earlier is not None and (not earlier.types or not entity.types or earlier.types == entity.types):
            # The same entity again: add the properties that the first description lacks.
            earlier.types = earlier.types or entity.types
            entity = earlier
        else:
            self._entities.append(entity)
            if identity:
                self._by_id.setdefault(identity, entity)
        has_own = set(entity.properties)
        for name, value in document.items():
            if not name.startswith("@") and name.lower() not in has_own:
                self._add(entity, local_name(name), value, depth)
        return entity

    def _add(self, entity: Entity, name: str, value: Any, depth: int) -> None:
        if isinstance(value, list):
            if depth < _MAX_DEPTH:
                for entry in value:
                    self._add(entity, name, entry, depth + 1)
        elif isinstance(value, dict):
            self._add_object(entity, name, value, depth)
        elif (text := _scalar(value)) is not None:
            entity.add(name, text)

    def _add_object(self, entity: Entity, name: str, value: dict[str, Any], depth: int) -> None:
        if "@value" in value:
            self._add(entity, name, value["@value"], depth + 1)
        elif isinstance(value.get("@list"), list):
            self._add(entity, name, value["@list"], depth + 1)
        elif set(value) == {"@id"} and isinstance(value["@id"], str):
            self._references.append((entity, name, value["@id"]))
        elif (nested := self._read_object(value, depth + 1)) is not None:
            entity.add(name, nested)

    def finish(self) -> list[Entity]:
        """Resolve references by `@id` and return all entities. An unresolved reference stays a text."""
        for entity, name, identity in self._references:
            entity.add(name, self._by_id.get(identity, identity))
        return self._entities


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return repr(value)
    if isinstance(value, int | float):
        return str(value)
    return clean_value(value) if isinstance(value, str) else None


def _types(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(local_name(each) for each in values if isinstance(each, str) and each)
