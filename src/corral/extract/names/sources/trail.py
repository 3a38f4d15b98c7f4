"""Read breadcrumb lists from structured data."""

from collections.abc import Iterator, Sequence

from corral.extract.names.candidates import NameCandidate
from corral.extract.names.sources.entity import Entity, Value

_LISTS = frozenset(("breadcrumblist",))
_OLDER = frozenset(("breadcrumb",))


def read_trails(entities: Sequence[Entity]) -> Iterator[NameCandidate]:
    for entity in entities:
        if entity.has_type(_LISTS):
            steps = sorted(entity.properties.get("itemlistelement", ()), key=_position)
            names = tuple(name for step in steps if (name := _name(step)))
            if names:
                yield NameCandidate(names, f"{entity.source}:BreadcrumbList")
    older = [entity for entity in entities if entity.has_type(_OLDER)]
    names = tuple(name for entity in older if (name := entity.first("title", "name")))
    if names:
        yield NameCandidate(names, f"{older[0].source}:Breadcrumb")


def _position(step: Value) -> int:
    text = step.first("position") if isinstance(step, Entity) else None
    return int(text) if text and text.isdigit() else 0


def _name(step: Value) -> str | None:
    if isinstance(step, str):
        return None if "://" in step else step
    name = step.first("name")
    return name or next((found for item in step.entities("item") if (found := item.first("name"))), None)
