"""Check a recipe that a person edited, and refuse one that cannot work for its pages."""

from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.url import parse_target
from corral.domain.sites.recipe.recipe import Recipe, StoredRecipe, recipe_of
from corral.domain.sites.recipe.text import slots_in
from corral.domain.sites.site import fields_key


def check_edit(stored: StoredRecipe, document: Any, policy: EgressPolicy) -> dict[str, Any]:
    """Return the document to store, or raise BadInput naming the problem."""
    recipe = recipe_of(stored.url_pattern, document)
    _check_fields(stored, recipe)
    for index, call in enumerate(recipe.calls):
        _check_slots(call.url, stored.url_pattern, f"document.calls.{index}.url")
        _check_body(call.body, stored.url_pattern, f"document.calls.{index}.body")
        _check_host(call.url, policy, f"document.calls.{index}.url")
    return recipe.document()


def _check_fields(stored: StoredRecipe, recipe: Recipe) -> None:
    wanted = sorted(stored.document["fields"])
    if sorted(recipe.fields) != wanted and fields_key(recipe.fields) != stored.fields_key:
        raise BadInput(
            f"the jobs of this recipe ask for {', '.join(wanted)[:200]}",
            field="document.fields",
            hint="give the source of each of these fields, and no others",
        )


def _check_slots(text: str, pattern: str, field: str) -> None:
    missing = sorted(slot for slot in slots_in(text) if not _has(pattern, slot))
    if missing:
        raise BadInput(f"the pages of {pattern[:200]} have no {{{missing[0]}}}", field=field)


def _check_body(value: Any, pattern: str, field: str) -> None:
    if isinstance(value, dict):
        for each in value.values():
            _check_body(each, pattern, field)
    elif isinstance(value, list):
        for each in value:
            _check_body(each, pattern, field)
    elif isinstance(value, str):
        _check_slots(value.replace(":number}", "}"), pattern, field)


def _has(pattern: str, slot: str) -> bool:
    """True if the pages of a pattern have this part; whether it is a number depends on the page."""
    kind, _, rest = slot.partition(".")
    before, _, fragment = pattern.partition("#")
    path, _, query = before.partition("?")
    if kind == "query":
        return any(pair.partition("=")[0] == rest for pair in query.split("&"))
    if kind not in ("path", "hash"):
        return True
    pieces = [piece for piece in (path if kind == "path" else fragment).strip("/").split("/") if piece]
    return int(rest.partition(".")[0]) < len(pieces)


def _check_host(url: str, policy: EgressPolicy, field: str) -> None:
    if url.startswith("{origin}"):
        return
    check_literal(parse_target(url.replace("{", "").replace("}", ""), max_chars=9000), policy, field=field)
