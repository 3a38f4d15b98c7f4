"""A command group that imports the module of a verb when the verb is used.

`corral --help` prints the one-line helps of a static table and imports no verb; `corral run list` imports one. A
verb's module can therefore import everything it needs at the top.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from corral.cli.aliases import command_with_aliases
from corral.cli.command_options import to_command


@dataclass(frozen=True, slots=True)
class Verb:
    """A command: its name, `module:function` below `corral.cli.verbs`, and the first sentence of its help."""

    name: str
    target: str
    help: str
    panel: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    help: str
    verbs: tuple[Verb, ...]
    panel: str | None = None


class LazyGroup(TyperGroup):
    verbs: dict[str, Verb]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the verb. Try two words first, because `crawl pages RUN` exists beside `crawl URL`."""
        both = " ".join(args[:2])
        name, command, rest = super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)
        if name in self.verbs:
            command = _load(self.verbs[name], self.rich_markup_mode)
        return name, command, rest


def build_group(
    name: str, callback: Any, entries: Sequence[Verb | Group], style: Literal["rich"] | None, *, help_text: str
) -> LazyGroup:
    app = typer.Typer(
        name=name,
        cls=LazyGroup,
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=style,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(callback)
    group = get_command(app)
    assert isinstance(group, LazyGroup)
    group.verbs = {each.name: each for each in entries if isinstance(each, Verb)}
    for entry in entries:
        group.add_command(_stub(entry) if isinstance(entry, Verb) else _build_subgroup(entry, style), entry.name)
    return group


def _build_subgroup(group: Group, style: Literal["rich"] | None) -> LazyGroup:
    built = build_group(group.name, lambda: None, group.verbs, style, help_text=group.help)
    built.rich_help_panel = group.panel
    return built


def _stub(verb: Verb) -> TyperCommand:
    """Return the entry of a verb in the list of commands, without importing the verb."""
    return TyperCommand(name=verb.name, help=verb.help, hidden=verb.hidden, rich_help_panel=verb.panel)


def _load(verb: Verb, style: Any) -> Any:
    path, _, function = verb.target.partition(":")
    module = import_module(f"corral.cli.verbs.{path}")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=style)
    aliases = getattr(module, "ALIASES", {})
    app.command(verb.name, cls=command_with_aliases(aliases))(to_command(getattr(module, function)))
    return get_command(app)
