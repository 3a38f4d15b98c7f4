"""Definitions of workflows in Python."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corral.domain.workflows.parse import make_key, parse_workflow
from corral.domain.workflows.spec import DEFAULT_RECOVERIES, DEFAULT_RETRIES, LOCAL_STEP, WorkflowSpec
from corral.runtime.python_step import choose_arguments

Handler = Callable[..., Any] | str


@dataclass
class WorkflowStep:
    """One step. The handler is a coroutine function of this program, or the text `module:function`.

    A handler takes no argument, or one: the outputs of the steps it depends on, by the key of each step (its name in
    lower case, with underscores). A text is called by a worker, in a process of its own.
    """

    name: str
    task_type: str
    handler: Handler
    max_retries: int = DEFAULT_RETRIES
    dependencies: Sequence[int | str] = field(default_factory=list)
    timeout: float | None = None
    estimated_duration: float | None = None
    when: str | None = None
    for_each: str | None = None

    @property
    def key(self) -> str:
        return make_key(self.name)

    def document(self) -> dict[str, Any]:
        is_local = not isinstance(self.handler, str)
        config = {"function": self.handler} if isinstance(self.handler, str) else {"handler": _name_of(self.handler)}
        return {
            "key": self.key,
            "name": self.name,
            "type": self.task_type,
            "kind": LOCAL_STEP if is_local else "python",
            "config": config,
            "depends_on": list(self.dependencies),
            "max_retries": self.max_retries,
            "timeout": self.timeout,
            "estimated_duration": self.estimated_duration,
            "when": self.when,
            "for_each": self.for_each,
        }


@dataclass
class WorkflowDefinition:
    name: str
    steps: Sequence[WorkflowStep]
    max_recovery_attempts: int = DEFAULT_RECOVERIES

    def validate(self) -> bool:
        """True; InvalidWorkflow, a ValueError, names every problem."""
        self.spec()
        return True

    def spec(self) -> WorkflowSpec:
        return parse_workflow(
            {
                "name": self.name,
                "max_recovery_attempts": self.max_recovery_attempts,
                "steps": [step.document() for step in self.steps],
            }
        )

    def handlers(self) -> dict[str, Callable[[Mapping[str, Any]], Awaitable[Any]]]:
        """The handlers of this process, by the keys of their steps."""
        return {step.key: _wrap(step.handler) for step in self.steps if not isinstance(step.handler, str)}


def _wrap(handler: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
    async def call(inputs: Mapping[str, Any]) -> Any:
        arguments = choose_arguments(handler, inputs, {})
        if not inspect.iscoroutinefunction(handler):
            result = await asyncio.to_thread(handler, *arguments)
            return await result if inspect.isawaitable(result) else result
        return await handler(*arguments)

    return call


def _name_of(handler: Callable[..., Any]) -> str:
    return str(getattr(handler, "__qualname__", None) or type(handler).__qualname__)
