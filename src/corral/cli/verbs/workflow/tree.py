"""A workflow as a tree on the terminal, or as lines in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from corral.cli import render
from corral.domain.workflows.now import StepDetail, WorkflowNow
from corral.domain.workflows.states import StepState

if TYPE_CHECKING:
    from rich.tree import Tree

_MARKS = {
    "pending": "·",
    "queued": "◦",
    "running": "▶",
    "retrying": "↻",
    "completed": "✓",
    "failed": "✗",
    "skipped": "-",
    "cancelled": "✗",
}
_TONES = {
    "pending": "bright_black",
    "queued": "cyan",
    "running": "blue",
    "retrying": "yellow",
    "completed": "green",
    "failed": "red",
    "skipped": "bright_black",
    "cancelled": "bright_black",
    "partial": "yellow",
}


def describe_step(step: StepDetail) -> str:
    status = "partial" if step.now.state is StepState.PARTIAL else step.status.value
    parts = [f"{_MARKS[step.status.value]} {step.spec.name} [{step.spec.kind}] {status}"]
    if step.items is not None and step.items.total:
        parts.append(f"{step.items.succeeded}/{step.items.total} items")
    if step.duration_s is not None:
        parts.append(f"{step.duration_s:.1f} s")
    elif step.spec.estimated_s is not None and not step.now.state.is_over:
        parts.append(f"about {step.spec.estimated_s:.0f} s")
    if step.retry_count:
        parts.append(f"retries {step.retry_count}")
    problem = step.now.reason or (step.error if not step.now.state.is_over else None)
    if problem:
        parts.append(problem)
    return render.printable(", ".join(parts), 300)


def describe_head(now: WorkflowNow) -> str:
    status = f"{now.status.value}{' (partial)' if now.is_partial else ''}"
    return (
        f"{now.spec.name} v{now.version}: {status}, {now.progress} %, "
        f"{now.counts.completed + now.counts.partial}/{now.counts.total} steps"
    )


def list_levels(now: WorkflowNow) -> list[tuple[int, StepDetail]]:
    """Return each step once, below the last of its dependencies, with its depth in the tree."""
    below: dict[str | None, list[StepDetail]] = {}
    for step in now.steps:
        below.setdefault(step.spec.depends_on[-1] if step.spec.depends_on else None, []).append(step)
    levels: list[tuple[int, StepDetail]] = []
    stack = [(1, step) for step in reversed(below.get(None, []))]
    while stack:
        depth, step = stack.pop()
        levels.append((depth, step))
        stack += [(depth + 1, each) for each in reversed(below.get(step.spec.key, []))]
    return levels


def print_workflow(now: WorkflowNow) -> None:
    if render.on_terminal():
        render.console().print(_build_tree(now))
        return
    print(describe_head(now))
    for depth, step in list_levels(now):
        print(f"{'  ' * depth}{describe_step(step)}")


def _build_tree(now: WorkflowNow) -> "Tree":
    from rich.text import Text  # noqa: PLC0415 - on a terminal only
    from rich.tree import Tree  # noqa: PLC0415

    tree = Tree(Text(describe_head(now), style="bold"))
    nodes = [tree]
    for depth, step in list_levels(now):
        status = "partial" if step.now.state is StepState.PARTIAL else step.status.value
        del nodes[depth:]
        nodes.append(nodes[-1].add(Text(describe_step(step), style=_TONES[status])))
    return tree


class WorkflowWatcher(Protocol):
    def show(self, now: WorkflowNow) -> None: ...


class _Lines:
    """One line for each change of a step, for pipes and logs."""

    def __init__(self) -> None:
        self._printed: dict[str, str] = {}

    def show(self, now: WorkflowNow) -> None:
        for step in now.steps:
            key = f"{step.now.state} {step.status}"
            if step.now.state is not StepState.WAITING and self._printed.get(step.spec.key) != key:
                self._printed[step.spec.key] = key
                print(describe_step(step), file=sys.stderr, flush=True)


class _Quiet:
    def show(self, now: WorkflowNow) -> None: ...


@contextmanager
def watch(*, is_quiet: bool) -> Iterator[WorkflowWatcher]:
    """Show each state of a workflow: a live tree on a terminal, lines on standard error otherwise."""
    if is_quiet:
        yield _Quiet()
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.live import Live  # noqa: PLC0415 - on a terminal only

    with Live(console=render.console(stderr=True), auto_refresh=False, transient=True) as live:

        class _Tree:
            def show(self, now: WorkflowNow) -> None:
                live.update(_build_tree(now), refresh=True)

        yield _Tree()
