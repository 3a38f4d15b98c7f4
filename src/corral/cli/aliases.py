"""Former names of options. They keep working; help texts and messages show the current names only."""

from collections.abc import Mapping
from copy import copy
from typing import Any

from typer.core import TyperCommand


def command_with_aliases(aliases: Mapping[str, str]) -> type[TyperCommand]:
    """Return a command class that also accepts the former names of its options: `{"--minutes": "--max-time"}`."""

    class AliasedCommand(TyperCommand):
        def make_parser(self, ctx: Any) -> Any:
            parser: Any = super().make_parser(ctx)
            for former, current in aliases.items():
                [option] = [copy(each) for each in self.params if current in each.opts]
                option.opts = [former]
                option.add_to_parser(parser, ctx)
            return parser

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            try:
                return super().parse_args(ctx, args)
            except Exception as error:
                # Suggestions for a mistyped option name the current one.
                if similar := getattr(error, "possibilities", None):
                    error.possibilities = sorted({aliases.get(name, name) for name in similar})  # type: ignore[attr-defined]
                raise

    return AliasedCommand
