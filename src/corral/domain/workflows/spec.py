"""A workflow as its definition describes it, and the limits of one."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import orjson

from corral.domain.errors import BadInput

MAX_STEPS = 100
MAX_RETRIES = 10
DEFAULT_RETRIES = 3
DEFAULT_RECOVERIES = 3
MAX_RECOVERIES = 100
# Children of one `for_each`: each is a run, and all of them are written in one transaction.
MAX_ITEMS = 1_000
# The output of one step, and the inputs of one child run, as JSON.
MAX_OUTPUT_BYTES = 1024 * 1024
MAX_INPUT_BYTES = 4 * 1024 * 1024
# The inputs of all children of one `for_each`.
MAX_FAN_OUT_BYTES = 64 * 1024 * 1024
MAX_DEFINITION_BYTES = 512 * 1024


class InvalidWorkflow(BadInput, ValueError):
    """The definition is invalid. It holds all problems."""

    code = "invalid_workflow"

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems), field="definition", hint="check it with `corral workflow validate FILE`")
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class StepSpec:
    """One step. `depends_on` has keys of other steps."""

    key: str
    name: str
    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    max_retries: int = DEFAULT_RETRIES
    timeout_s: float | None = None
    estimated_s: float | None = None
    when: str | None = None  # see domain.workflows.condition
    for_each: str | None = None  # a reference to a list: one child run for each of its values
    allow_failures: bool = False  # a `for_each` with failed children is partial instead of failed
    type: str = ""  # the caller's own word for what the step does; the kind by default

    def document(self) -> dict[str, Any]:
        """Return what `parse` reads: only options that differ from their default, so that the digest stays stable."""
        optional = {
            "depends_on": list(self.depends_on),
            "timeout": self.timeout_s,
            "estimated_duration": self.estimated_s,
            "when": self.when,
            "for_each": self.for_each,
            "allow_failures": self.allow_failures,
            "type": self.type if self.type != self.kind else None,
        }
        return {
            "key": self.key,
            "name": self.name,
            "kind": self.kind,
            "config": dict(self.config),
            "max_retries": self.max_retries,
            **{name: value for name, value in optional.items() if value},
        }


@dataclass(frozen=True)
class WorkflowSpec:
    name: str
    steps: tuple[StepSpec, ...]
    max_recovery_attempts: int = DEFAULT_RECOVERIES

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Parse a definition as `document` writes it.

        It was checked when it was written, and is not checked again: a stricter rule of a later version must not stop
        running workflows.
        """
        steps = tuple(_read_step(each) for each in document["steps"])
        return cls(document["name"], steps, document["max_recovery_attempts"])

    @cached_property
    def by_key(self) -> dict[str, StepSpec]:
        return {step.key: step for step in self.steps}

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "max_recovery_attempts": self.max_recovery_attempts,
            "steps": [step.document() for step in self.steps],
        }

    @cached_property
    def digest(self) -> str:
        """Return a digest that is the same for the same content; it distinguishes the versions of a name."""
        text = orjson.dumps(self.document(), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
        return hashlib.blake2b(text, digest_size=16).hexdigest()


def _read_step(document: Mapping[str, Any]) -> StepSpec:
    return StepSpec(
        key=document["key"],
        name=document["name"],
        kind=document["kind"],
        config=document["config"],
        depends_on=tuple(document.get("depends_on", ())),
        max_retries=document["max_retries"],
        timeout_s=document.get("timeout"),
        estimated_s=document.get("estimated_duration"),
        when=document.get("when"),
        for_each=document.get("for_each"),
        allow_failures=document.get("allow_failures", False),
        type=document.get("type") or document["kind"],
    )


def find_step_key(spec: WorkflowSpec, wanted: str | int) -> str:
    """Return the key of a step that a person names by key, name or index."""
    if isinstance(wanted, str) and wanted not in spec.by_key and wanted.isdecimal():
        wanted = int(wanted)
    if isinstance(wanted, int) and 0 <= wanted < len(spec.steps):
        return spec.steps[wanted].key
    for step in spec.steps:
        if wanted in (step.key, step.name):
            return step.key
    raise BadInput(
        f"there is no step {str(wanted)[:80]!r}", field="from_step", hint=f"the steps are {', '.join(spec.by_key)}"
    )


LOCAL_STEP = "local"  # a coroutine of the process that executes the workflow
