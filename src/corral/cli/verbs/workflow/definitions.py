"""Definitions from files, and parameters of templates from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import MAX_DEFINITION_BYTES, WorkflowSpec
from corral.domain.workflows.templates.registry import TEMPLATES, fill_template


def read_definition(path: Path) -> Any:
    """Return the document in a YAML or JSON file; raise BadConfiguration if it cannot be read."""
    import yaml  # noqa: PLC0415 - only where a file is read

    from corral.cli.verbs.workflow.strict_yaml import load_yaml  # noqa: PLC0415
    from corral.wiring.coverage import to_plain  # noqa: PLC0415

    try:
        if path.stat().st_size > MAX_DEFINITION_BYTES:
            raise BadConfiguration([f"{path} is larger than {MAX_DEFINITION_BYTES // 1024} KiB"])
        return to_plain(load_yaml(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise BadConfiguration([f"there is no file {path}; name a definition, or a template with --template"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration([f"{path}: cannot be read ({error})"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise BadConfiguration([f"{path}: {where}{getattr(error, 'problem', None) or 'is no YAML'}"]) from None


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
