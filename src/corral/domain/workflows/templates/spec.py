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

    def fill(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the definition with these arguments; InvalidWorkflow names every problem."""
        parameters = {each.name: each for each in self.parameters}
        names = ", ".join(parameters)
        unknown = [name for name in arguments if name not in parameters]
        problems = [f"template {self.name} has no parameter {name[:80]!r}; it has {names}" for name in unknown]
        problems += [
            f"template {self.name} needs the parameter {each.name} ({each.help})"
            for each in self.parameters
            if each.is_required and arguments.get(each.name) in (None, "", [], {})
        ]
        problems += [
            f"parameter {name} is a {parameters[name].type}"
            for name, value in arguments.items()
            if name in parameters and value is not None and not _fits(value, parameters[name].type)
        ]
        if problems:
            raise InvalidWorkflow(problems)
        values = {name: each.default for name, each in parameters.items()}
        return self.build({**values, **{name: value for name, value in arguments.items() if value is not None}})

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
