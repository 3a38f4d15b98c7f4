"""Entities of structured data: types and properties, independent of their syntax."""

from collections.abc import Iterator
from typing import Union

from selectolax.lexbor import LexborNode

from corral.extract.names.words.text import plain

Value = Union[str, "Entity"]

MAX_ENTITIES = 2_000
MAX_VALUES_OF_PROPERTY = 1_000
_MAX_PATH_VALUES = 1_000


class Entity:
    """One thing. Property names are looked up in lower case; the spelling of the page is stored for display."""

    __slots__ = ("identity", "node", "parent", "properties", "source", "spellings", "types", "via")

    def __init__(self, source: str, types: tuple[str, ...] = (), identity: str | None = None) -> None:
        self.source = source
        self.types = types
        self.identity = identity
        self.properties: dict[str, list[Value]] = {}
        self.spellings: dict[str, str] = {}
        self.node: LexborNode | None = None  # its element, if its syntax uses elements
        self.parent: Entity | None = None
        self.via: str | None = None  # the key of the property by which the parent holds it

    def add(self, name: str, value: Value) -> None:
        key = plain(name)
        if not key:
            return
        values = self.properties.setdefault(key, [])
        if len(values) < MAX_VALUES_OF_PROPERTY:
            values.append(value)
            self.spellings.setdefault(key, name)
        if isinstance(value, Entity) and value.parent is None and value is not self:
            value.parent, value.via = self, key

    def has_type(self, kinds: frozenset[str]) -> bool:
        return any(name.lower() in kinds for name in self.types)

    def texts(self, key: str) -> list[str]:
        return [value for value in self.properties.get(key, ()) if isinstance(value, str)]

    def entities(self, key: str) -> list["Entity"]:
        return [value for value in self.properties.get(key, ()) if isinstance(value, Entity)]

    def first(self, *keys: str) -> str | None:
        return next((text for key in keys for text in self.texts(key)), None)

    @property
    def type_name(self) -> str:
        return self.types[0] if self.types else "Thing"

    def ancestors(self) -> Iterator["Entity"]:
        above, seen = self.parent, {id(self)}
        while above is not None and id(above) not in seen:
            yield above
            seen.add(id(above))
            above = above.parent

    def follow(self, path: str) -> Iterator[tuple[Value, str]]:
        """Yield the values at a path such as `offers.price`, each with the path as the page spells it."""
        reached: list[tuple[Value, str]] = [(self, self.type_name)]
        for key in path.split("."):
            reached = [
                (value, f"{label}.{entity.spellings.get(key, key)}")
                for entity, label in reached
                if isinstance(entity, Entity)
                for value in entity.properties.get(key, ())
            ][:_MAX_PATH_VALUES]
        yield from reached
