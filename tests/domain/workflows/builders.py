"""Definitions for tests of workflows, with only what matters spelled out."""

from typing import Any


def a_step(key: str, *needs: str, **changed: Any) -> dict[str, Any]:
    return {"key": key, "kind": "selftest", "config": {"record": True}, "depends_on": list(needs), **changed}


def a_definition(*steps: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {"name": "test", "steps": list(steps), **changed}


def a_diamond() -> dict[str, Any]:
    """Six steps with two parallel branches."""
    return a_definition(
        a_step("a"), a_step("b", "a"), a_step("c", "a"), a_step("d", "b"), a_step("e", "c"), a_step("f", "d", "e")
    )


def call(key: str, *needs: str, **changed: Any) -> dict[str, Any]:
    """A step that receives the outputs of what it depends on."""
    return {"key": key, "kind": "python", "config": {"function": "m:f"}, "depends_on": list(needs), **changed}
