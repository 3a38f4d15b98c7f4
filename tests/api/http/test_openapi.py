"""The API's own description: every limit it states is kept, and none that is kept is left out."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stack import Stack

Schema = dict[str, Any]
ERRORS = {
    "400",
    "401",
    "403",
    "404",
    "405",
    "408",
    "409",
    "413",
    "414",
    "415",
    "422",
    "429",
    "431",
    "500",
    "503",
    "507",
}
_FIXED_FORMATS = ("uuid", "date-time")


@pytest.fixture(scope="module")
def document(stack: Stack) -> Schema:
    return dict(stack.client.get("/openapi.json").json())


class _Unbounded:
    """Walks what a client may send, and names what has no bound."""

    def __init__(self, document: Schema) -> None:
        self._schemas = document["components"]["schemas"]

    def find(self, schema: Schema, where: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in seen:
                yield from self.find(self._schemas[name], f"{where} {name}", seen | {name})
            return
        for way in ("anyOf", "oneOf", "allOf"):
            for each in schema.get(way, ()):
                yield from self.find(each, where, seen)
        if not self._is_bounded(schema):
            yield f"{where}: {schema}"
        inner = [("[]", schema.get("items")), ("{}", schema.get("additionalProperties"))]
        for name, each in [*inner, *schema.get("properties", {}).items()]:
            if isinstance(each, dict):
                yield from self.find(each, f"{where}.{name}", seen)

    @staticmethod
    def _is_bounded(schema: Schema) -> bool:
        match schema.get("type"):
            case "string":
                return bool({"maxLength", "enum", "const"} & set(schema)) or schema.get("format") in _FIXED_FORMATS
            case "integer" | "number":
                return bool({"maximum", "exclusiveMaximum"} & set(schema)) and bool(
                    {"minimum", "exclusiveMinimum"} & set(schema)
                )
            case "array":
                return "maxItems" in schema
            case "object":
                return schema.get("additionalProperties", False) is False or "maxProperties" in schema
        return True


def _operations(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield method, path, operation


def test_everything_that_is_sent_has_a_stated_bound(document: Schema) -> None:
    walk = _Unbounded(document)
    unbounded: list[str] = []
    for method, path, operation in _operations(document):
        for each in operation.get("parameters", ()):
            unbounded += walk.find(each["schema"], f"{method} {path} {each['name']}")
        for content in operation.get("requestBody", {}).get("content", {}).values():
            unbounded += walk.find(content["schema"], f"{method} {path}")
    assert not unbounded, "\n".join(unbounded)


def test_every_operation_states_every_error_and_the_size_of_its_body(document: Schema) -> None:
    for method, path, operation in _operations(document):
        assert set(operation["responses"]) >= ERRORS, f"{method} {path}"
        for status in ERRORS:
            schema = operation["responses"][status]["content"]["application/json"]["schema"]
            assert schema["$ref"].endswith("/ProblemBody")
        assert "Retry-After" in operation["responses"]["429"]["headers"]
        if "requestBody" in operation:
            assert operation["requestBody"]["x-max-bytes"] == document["info"]["x-limits"]["max_body_bytes"] == 1024**2


def test_a_text_that_is_longer_than_stated_is_refused_with_the_stated_bound(stack: Stack, document: Schema) -> None:
    tried = 0
    for method, path, operation in _operations(document):
        for each in operation.get("parameters", ()):
            bound = _longest(each["schema"])
            if each["in"] == "query" and bound is not None:
                tried += 1
                filled = re.sub(r"\{\w+\}", "01a1de72-ef57-70cc-9efc-dbcdc746657c", path)
                answer = stack.client.request(method, filled, params={each["name"]: "a" * (bound + 1)}, json={})
                assert f"at most {bound} " in answer.json()["detail"], f"{method} {path} {each['name']}"
    for name, schema in document["components"]["schemas"]["JobCreate"]["properties"].items():
        bound = _longest(schema)
        if bound is not None:
            tried += 1
            body = {"target_url": stack.site, "fields": ["title"], name: "a" * (bound + 1)}
            assert f"at most {bound} " in stack.client.post("/jobs", json=body).json()["detail"], name
    assert tried > 10


def _longest(schema: Schema) -> int | None:
    return next((each["maxLength"] for each in (schema, *schema.get("anyOf", ())) if "maxLength" in each), None)


def test_a_text_that_is_as_long_as_stated_is_not_refused_for_its_length(stack: Stack, document: Schema) -> None:
    schemas = document["components"]["schemas"]
    longest_url = schemas["JobCreate"]["properties"]["target_url"]["maxLength"]
    url = f"{stack.site}/articles?".ljust(longest_url, "a")
    assert stack.client.post("/jobs", json={"target_url": url, "fields": ["title"]}).status_code == 200
    begins = {"css": "a", "xpath": "a", "jsonpath": "$.a", "regex": "a"}
    for kind, begin in begins.items():
        bound = _longest(schemas["FieldRecipe"]["properties"][kind])
        assert bound is not None
        body = {"target_url": f"{stack.site}/articles", "fields": [{"name": "a", kind: begin.ljust(bound, "a")}]}
        answer = stack.client.post("/jobs", json=body)
        assert answer.status_code == 200, answer.text
