"""The deployment files as the programs that use them read them."""

import re
from pathlib import Path
from typing import Any

import yaml

from corral.cli.main import build
from tests.shape.files import ROOT

COMPOSE = ROOT / "compose.yaml"
DOCKERFILE = ROOT / "Dockerfile"
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
TOKEN = "a-token-of-some-length"
SECRETS = {"POSTGRES_PASSWORD": "of-postgres", "REDIS_PASSWORD": "of-redis", "APP_WRITE_TOKEN": TOKEN}
_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+)(?::([-?])([^}]*))?\})")


class MissingVariable(Exception):
    pass


def compose(variables: dict[str, str]) -> dict[str, Any]:
    """compose.yaml with its variables filled in, as Compose does it."""

    def substitute(found: re.Match[str]) -> str:
        dollar, name, how, text = found.groups()
        if dollar:
            return "$"
        if value := variables.get(name):
            return value
        if how == "?":
            raise MissingVariable(f"{name}: {text}")
        return text or ""

    return dict(yaml.safe_load(_VARIABLE.sub(substitute, COMPOSE.read_text())))


def services(variables: dict[str, str] = SECRETS) -> dict[str, dict[str, Any]]:
    return dict(compose(variables)["services"])


def check_corral(command: list[str]) -> None:
    """A `corral` command line that its own parser takes; nothing is executed."""
    name, verb, *rest = command
    assert Path(name).name == "corral", command
    group = build()
    with group.make_context("corral", [verb, *rest]) as context:
        _, found, arguments = group.resolve_command(context, [verb, *rest])
        with found.make_context(verb, arguments, parent=context):
            pass


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile line by line: what to do, and with what."""
    text = re.sub(r"\\\n\s*", " ", DOCKERFILE.read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]
