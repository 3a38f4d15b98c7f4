"""The declaration of a template: its parameters, and the definition that they make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.workflows.spec import InvalidWorkflow

_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "number": (int, float),
    "list": (list, tuple),
    "object": (dict,),
    "flag": (bool,),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str  # text, number, list, object or flag
    help: str
    default: Any = None
    is_required: bool = False

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "help": self.help,
            "default": self.default,
            "required": self.is_required,
        }


@dataclass(frozen=True, slots=True)
class WorkflowTemplate:
    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Mapping[str, Any]], dict[str, Any]]

    def fill(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The definition with these parameters; InvalidWorkflow names every problem."""
        known = {each.name: each for each in self.parameters}
        told = ", ".join(known)
        unknown = [name for name in given if name not in known]
        problems = [f"template {self.name} has no parameter {name[:80]!r}; it has {told}" for name in unknown]
        problems += [
            f"template {self.name} needs the parameter {each.name} ({each.help})"
            for each in self.parameters
            if each.is_required and given.get(each.name) in (None, "", [], {})
        ]
        problems += [
            f"parameter {name} is a {known[name].type}"
            for name, value in given.items()
            if name in known and value is not None and not _fits(value, known[name].type)
        ]
        if problems:
            raise InvalidWorkflow(problems)
        values = {name: each.default for name, each in known.items()}
        return self.build({**values, **{name: value for name, value in given.items() if value is not None}})

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "summary": self.summary,
            "parameters": [each.document() for each in self.parameters],
        }


def _fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "flag"
    return isinstance(value, _TYPES[kind])
