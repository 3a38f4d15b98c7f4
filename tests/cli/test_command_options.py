"""A verb declares its options as the fields of a frozen dataclass."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

import corral.cli
from corral.cli.command_options import to_command
from corral.cli.options import AsJson, NetworkOptions


@dataclass(frozen=True, kw_only=True)
class ToyOptions:
    url: Annotated[str, typer.Argument(metavar="URL")]
    depth: Annotated[int, typer.Option("--depth", min=1, help="How deep.")] = 2
    network: NetworkOptions
    tag: Annotated[list[str] | None, typer.Option("--tag")] = None
    as_json: AsJson = False


received: list[ToyOptions] = []


def toy(options: ToyOptions) -> None:
    """Do nothing."""
    received.append(options)


@pytest.fixture
def app() -> typer.Typer:
    received.clear()
    app = typer.Typer(rich_markup_mode=None)
    app.command()(to_command(toy))
    return app


def test_the_verb_receives_one_value_with_the_defaults_of_the_fields(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["http://a.test/"]).exit_code == 0
    [options] = received
    assert (options.url, options.depth, options.as_json) == ("http://a.test/", 2, False)
    assert options.network == NetworkOptions()


def test_options_of_an_inner_dataclass_are_options_of_the_command(app: typer.Typer) -> None:
    typed = ["http://a.test/", "--proxy", "direct", "--no-verify-tls", "--depth", "5", "--tag", "a", "--tag", "b"]
    assert CliRunner().invoke(app, typed).exit_code == 0
    [options] = received
    assert options.network == NetworkOptions(proxy="direct", no_verify_tls=True)
    assert (options.depth, options.tag) == (5, ["a", "b"])


def test_a_value_is_checked_and_a_missing_argument_is_named(app: typer.Typer) -> None:
    for typed, complaint in ((["http://a.test/", "--depth", "0"], "'--depth'"), ([], "'URL'")):
        answer = CliRunner().invoke(app, typed)
        assert (answer.exit_code, complaint in answer.output) == (2, True)
    assert not received


def test_help_lists_the_options_in_the_order_of_the_fields(app: typer.Typer) -> None:
    shown = CliRunner().invoke(app, ["--help"]).output
    places = [shown.index(name) for name in ("--depth", "--proxy", "--no-verify-tls", "--tag", "--json")]
    assert places == sorted(places)
    assert "Do nothing." in shown


def test_a_verb_without_a_dataclass_keeps_its_parameters() -> None:
    def plain(url: str, as_json: AsJson = False) -> None: ...

    assert to_command(plain) is plain


def test_no_verb_collects_its_options_with_locals() -> None:
    folder = Path(corral.cli.__path__[0])
    calls = [
        (path.name, node.lineno)
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "locals"
    ]
    assert calls == []
