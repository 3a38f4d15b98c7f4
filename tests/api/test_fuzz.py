"""Whatever a client sends, no answer is a 5xx and none breaks the published schema."""

import os
from typing import Any

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from tests.chaos.level import by_level
from tests.stack import Stack

_EXAMPLES = int(os.environ.get("CORRAL_FUZZ_EXAMPLES", "0")) or by_level(3, 50)
_CHECKS = (not_a_server_error, status_code_conformance, response_schema_conformance)


def test_no_request_of_the_schema_makes_a_server_error(stack: Stack) -> None:
    try:
        _attack_everything(stack)
    finally:  # other tests share this installation
        defaults = stack.client.get("/settings").json()
        assert stack.client.put("/settings", json=dict.fromkeys(defaults)).status_code == 200


def _attack_everything(stack: Stack) -> None:
    schema = schemathesis.openapi.from_url(f"{stack.url}/openapi.json")
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        if operation.path.endswith("/stream"):
            continue

        @settings(max_examples=_EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def attack(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(base_url=stack.url, checks=list(_CHECKS), timeout=20)

        attack()
