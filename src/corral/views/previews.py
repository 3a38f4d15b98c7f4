"""Previews as the API and the command line show them."""

import json
from typing import Any

from corral.engine.usecases.preview import MORE_PAGES, MORE_PAGES_S, PreviewedTemplate

MAX_PREVIEW_CHARS = 1_000
MAX_PREVIEW_VALUES = 20
_NOTHING = "nothing on this page was recognised; it may be empty, or no HTML"


def preview_read(template: PreviewedTemplate) -> dict[str, Any]:
    preview = template.preview
    found = template.suggestions()
    return {
        "url": preview.url,
        "fetched_via": preview.fetched_via.value,
        "html_snippet": preview.survey["snippet"],
        "suggestions": [_suggestion_read(each) for each in found],
        "lists": [_list_read(each) for each in template.lists()],
        "clicked": preview.survey.get("clicked"),
        "pages": [{"url": page.url, "problem": page.problem} for page in template.pages],
        "pages_note": _pages_note(template),
        "warnings": preview.warnings or ([] if found else [_NOTHING]),
    }


def _suggestion_read(suggestion: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in suggestion.items() if name != "value"}
    return {**fields, "values": [shorten_value(value) for value in suggestion["values"]]}


def _list_read(offered: dict[str, Any]) -> dict[str, Any]:
    rows = [{name: shorten_value(value) for name, value in row.items()} for row in offered["rows"]]
    return {**offered, "rows": rows}


def _pages_note(template: PreviewedTemplate) -> str | None:
    read = sum(page.problem is None for page in template.pages) - 1
    if read >= MORE_PAGES:
        return None
    linked = len(template.preview.survey["siblings"])
    if not linked:
        return "no other page of this template is linked from here: the values are those of this page alone"
    return f"{read} of {MORE_PAGES} more pages were read within {MORE_PAGES_S:.0f} s; {linked} are linked from here"


def shorten_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(each) for each in value[:MAX_PREVIEW_VALUES]]
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:MAX_PREVIEW_CHARS]
