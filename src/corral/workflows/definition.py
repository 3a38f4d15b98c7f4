"""Definitions of workflows in Python."""

import asyncio
import contextvars
import inspect
import operator
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import DEFAULT_RECOVERIES, DEFAULT_RETRIES, LOCAL_STEP, InvalidWorkflow, WorkflowSpec
from corral.engine.workflows.local import MAX_AT_ONCE
from corral.runtime.python_step import choose_arguments

Handler = Callable[..., Any] | str
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass
class WorkflowStep:
    """One step. The handler is a coroutine function of this program, or the text `module:function`.

    A handler takes no argument, or one: the outputs of the steps it depends on, by the key of each step (its name in
    lower case, with underscores). A worker calls `module:function`, in a process of its own.
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
    allow_failures: bool = False

    def document(self) -> dict[str, Any]:
        is_local = not isinstance(self.handler, str)
        config = {"function": self.handler} if isinstance(self.handler, str) else {"handler": _name_of(self.handler)}
        return {
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
            "allow_failures": self.allow_failures,
        }


@dataclass
class WorkflowDefinition:
    name: str
    steps: Sequence[WorkflowStep]
    max_recovery_attempts: int = DEFAULT_RECOVERIES
    _checked: "_Checked | None" = field(default=None, init=False, repr=False, compare=False)

    def validate(self) -> bool:
        """Return True, or raise InvalidWorkflow, a ValueError that names every problem."""
        self.spec()
        return True

    def spec(self) -> WorkflowSpec:
        """Return the current definition. It is checked again only after a change, because callers need it often."""
        document: dict[str, Any] = {
            "name": self.name,
            "max_recovery_attempts": self.max_recovery_attempts,
            "steps": [step.document() for step in self.steps],
        }
        handlers = [step.handler for step in self.steps]
        if self._checked is not None and self._checked.is_of(document, handlers):
            return self._checked.spec
        problems = [problem for step in self.steps if (problem := _check_handler(step)) is not None]
        try:
            spec = parse_workflow(document)
        except InvalidWorkflow as error:
            raise InvalidWorkflow([*error.problems, *problems]) from None
        if problems:
            raise InvalidWorkflow(problems)
        self._checked = _Checked(document, handlers, spec)
        return spec

    def handlers(self) -> dict[str, Callable[[Mapping[str, Any]], Awaitable[Any]]]:
        """Return the handlers of this process, by the keys of their steps."""
        # The default executor has few threads: handlers would wait for one while their timeouts run.
        threads = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="handler")
        keys = [step.key for step in self.spec().steps]
        return {
            key: _wrap(step.handler, threads)
            for key, step in zip(keys, self.steps, strict=True)
            if not isinstance(step.handler, str)
        }


class _Checked(NamedTuple):
    """A definition that was checked, and the result."""

    document: dict[str, Any]
    handlers: list[Handler]
    spec: WorkflowSpec

    def is_of(self, document: dict[str, Any], handlers: Sequence[Handler]) -> bool:
        # Two handlers may have the same name.
        return document == self.document and all(map(operator.is_, handlers, self.handlers))


def _check_handler(step: WorkflowStep) -> str | None:
    if isinstance(step.handler, str):
        return None
    handler: object = step.handler
    if not callable(handler):
        return f"{step.name}: the handler is a coroutine function, a function, or the text module:function"
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return None
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind not in _VARIADIC
    ]
    is_keyword = any(
        parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty for parameter in parameters
    )
    if len(needed) > 1 or is_keyword:
        return f"{step.name}: the handler needs the arguments {', '.join(needed)}; it gets one at most, the inputs"
    return None


def _wrap(handler: Callable[..., Any], threads: ThreadPoolExecutor) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
    async def call(inputs: Mapping[str, Any]) -> Any:
        arguments = choose_arguments(handler, inputs, {})
        if inspect.iscoroutinefunction(handler):
            return await handler(*arguments)
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(threads, context.run, _call_in_thread, handler, arguments)
        return await result if inspect.isawaitable(result) else result

    return call


def _call_in_thread(handler: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    try:
        return handler(*arguments)
    except StopIteration as error:  # a future rejects StopIteration, and would never be done
        raise RuntimeError("the handler raised StopIteration") from error


def _name_of(handler: Callable[..., Any]) -> str:
    return str(getattr(handler, "__qualname__", None) or type(handler).__qualname__)
