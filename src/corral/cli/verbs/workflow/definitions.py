"""Definitions from files, and parameters of templates from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import MAX_DEFINITION_BYTES, WorkflowSpec
from corral.domain.workflows.templates.registry import TEMPLATES, fill_template
from corral.files.yaml_file import read_marked_yaml, to_plain


def read_definition(path: Path) -> Any:
    """Return the document in a YAML or JSON file; raise BadConfiguration if it cannot be read."""
    try:
        document, _, duplicates = read_marked_yaml(path, MAX_DEFINITION_BYTES)
    except FileNotFoundError:
        raise BadConfiguration([f"there is no file {path}; name a definition, or a template with --template"]) from None
    if duplicates:
        raise BadConfiguration(
            [f"{path}: line {line}: key {key!r} occurs twice in one object" for key, line in duplicates]
        )
    return to_plain(document)


def load_spec(path: Path | None, template: str | None, params: Sequence[str]) -> WorkflowSpec:
    """Return the workflow of a file or a template."""
    if (path is None) == (template is None):
        raise BadInput("name either a definition file or --template NAME", field="definition")
    if template is not None:
        return parse_workflow(fill_template(template, parse_params(template, params)))
    if params:
        raise BadInput("--param is for templates", field="param", hint="add --template NAME")
    assert path is not None
    return parse_workflow(read_definition(path))


def parse_params(template: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Parse `name=value` pairs; a list may be written with commas."""
    types = {each.name: each.type for each in TEMPLATES[template].parameters} if template in TEMPLATES else {}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            raise BadInput(f"{pair[:80]!r} is not written as NAME=VALUE", field="param")
        values[name] = _parse_value(text, types.get(name))
    return values


def _parse_value(text: str, kind: str | None) -> Any:
    if kind == "list" and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind in ("number", "list", "object", "flag"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
