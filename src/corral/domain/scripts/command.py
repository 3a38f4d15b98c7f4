"""Build the command line of a script from validated parameters. It is executed without a shell."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.scripts.scraper import SCRAPER_NAME, ParameterSpec, ScraperSpec, normalize_parameter

MAX_VALUE_BYTES = 64 * 1024


def build_command(spec: ScraperSpec, params: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `interpreter script --season 2024-25 --game-ids 1,2,3`; BadInput names a parameter that is refused."""
    accepted = None if spec.parameters is None else {parameter.name: parameter for parameter in spec.parameters}
    values: dict[str, Any] = {}
    for written, value in params.items():
        name = normalize_parameter(str(written))
        if name in values:
            raise _refuse(spec, str(written), "is given twice, in two spellings")
        if value is not None:
            values[name] = value
    tokens: list[str] = []
    for name, value in values.items():
        if not SCRAPER_NAME.fullmatch(name):
            raise _refuse(spec, name, "is no name of a parameter")
        if accepted is not None and name not in accepted:
            accepted_names = ", ".join(accepted) or "none"
            raise _refuse(spec, name, f"is not accepted by this scraper; accepted: {accepted_names}")
        tokens += _tokens(spec, name, value, None if accepted is None else accepted[name])
    for parameter in spec.parameters or ():
        if parameter.is_required and parameter.name not in values:
            raise _refuse(spec, parameter.name, "is required by this scraper")
    return (*spec.command, *tokens)


def _tokens(spec: ScraperSpec, name: str, value: Any, rules: ParameterSpec | None) -> list[str]:
    option = "--" + name.replace("_", "-")
    if rules is not None and rules.type is not None and not _has_type(value, rules.type):
        raise _refuse(spec, name, f"must be of type {rules.type}")
    if isinstance(value, bool):
        return [option] if value else []
    elements = list(value) if isinstance(value, list | tuple) else [value]
    texts = [_text(spec, name, each, is_listed=isinstance(value, list | tuple)) for each in elements]
    for text in texts:
        _check_rules(spec, name, text, rules)
    if not texts:
        return []
    joined = ",".join(texts)
    if len(joined.encode()) > MAX_VALUE_BYTES:
        raise _refuse(spec, name, f"is longer than {MAX_VALUE_BYTES // 1024} KiB; split the task")
    return [option, joined]


def _has_type(value: Any, expected: str) -> bool:
    if isinstance(value, bool):
        return expected == "boolean"
    kinds: dict[str, type | tuple[type, ...]] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "list": (list, tuple),
    }
    return isinstance(value, kinds[expected])


def _text(spec: ScraperSpec, name: str, value: Any, *, is_listed: bool) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refuse(spec, name, "must be a text, a number, a flag or a list of texts and numbers")
    text = str(value)
    if text.startswith("-"):
        raise _refuse(spec, name, "begins with '-', which the script would read as an option")
    # Control characters and unpaired surrogates: the script would receive another value.
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in text):
        raise _refuse(spec, name, "contains a control character")
    if is_listed and ("," in text or not text):
        raise _refuse(spec, name, "has an empty element or one with a comma, which separates the elements")
    return text


def _check_rules(spec: ScraperSpec, name: str, text: str, rules: ParameterSpec | None) -> None:
    if rules is None:
        return
    if rules.choices and text not in rules.choices:
        raise _refuse(spec, name, f"must be one of {', '.join(rules.choices)}")
    if rules.pattern is not None and not re.fullmatch(rules.pattern, text):
        raise _refuse(spec, name, f"does not match {rules.pattern}")


def _refuse(spec: ScraperSpec, name: str, why: str) -> BadInput:
    return BadInput(f"parameter {name[:80]!r} of {spec.name} {why}", field=name[:80], code="parameter")
