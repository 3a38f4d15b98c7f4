"""Commands whose options are the fields of a frozen dataclass.

A verb with many options takes one value instead of as many parameters:

    @dataclass(frozen=True, kw_only=True)
    class ServeOptions:
        listen: ListenOptions
        as_json: AsJson = False

    def serve(options: ServeOptions) -> None: ...

A field declares an option by its Typer annotation. A field whose type is such a dataclass, like `listen`, stands for
the fields of that dataclass: this is how verbs share options.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, cast, get_type_hints


def to_command(verb: Callable[..., None]) -> Callable[..., None]:
    """Return a function with one parameter per option, as Typer reads it, or `verb` itself if it takes no dataclass."""
    options = next(iter(get_type_hints(verb).values()))
    if not is_dataclass(options):
        return verb

    def command(**values: Any) -> None:
        verb(_build(options, values))

    parameters = list(_parameters_of(options))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__name__, command.__doc__ = verb.__name__, verb.__doc__
    return command


def _parameters_of(options: Any) -> Iterator[inspect.Parameter]:
    for name, annotation, default in _fields_of(options):
        if is_dataclass(annotation):
            yield from _parameters_of(annotation)
        else:
            empty = inspect.Parameter.empty if default is MISSING else default
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=empty, annotation=annotation)


def _build(options: Any, values: dict[str, Any]) -> Any:
    """Build this dataclass, and the dataclasses inside it, from the values of the whole command."""
    return options(
        **{
            name: _build(annotation, values) if is_dataclass(annotation) else values[name]
            for name, annotation, _ in _fields_of(options)
        }
    )


def _fields_of(options: Any) -> Iterator[tuple[str, Any, Any]]:
    annotations = get_type_hints(cast("type", options), include_extras=True)
    for each in fields(options):
        yield each.name, annotations[each.name], each.default
