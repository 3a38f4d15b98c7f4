"""Checks of a definition as a whole: cycles, references, conditions."""

from collections.abc import Mapping, Sequence

from corral.domain.workflows.condition import check_condition
from corral.domain.workflows.references import INDEX, ITEM, PARAMS, parse_reference, references_in
from corral.domain.workflows.spec import StepSpec


def check_graph(steps: Sequence[StepSpec]) -> list[str]:
    """Return one problem for each cycle of steps that depend on themselves, directly or through others."""
    remaining = {step.key: set(step.depends_on) for step in steps}
    problems: list[str] = []
    while True:
        while free := [key for key, needs in remaining.items() if not needs & remaining.keys()]:
            for key in free:
                del remaining[key]
        if not remaining:
            return problems
        circle = _find_circle(remaining)
        problems.append(f"steps depend on each other in a circle: {' -> '.join(circle)}")
        for key in circle[1:]:
            del remaining[key]


def _find_circle(remaining: dict[str, set[str]]) -> list[str]:
    """Return one cycle among steps that wait for each other."""
    path = [next(iter(remaining))]
    while True:
        following = next(key for key in sorted(remaining[path[-1]]) if key in remaining)
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def find_ancestors(steps: Sequence[StepSpec]) -> dict[str, set[str]]:
    """Return, for each step, every step it depends on directly or through others."""
    direct = {step.key: step.depends_on for step in steps}
    return {key: _collect_ancestors(key, direct) for key in direct}


def _collect_ancestors(key: str, direct: Mapping[str, Sequence[str]]) -> set[str]:
    ancestors: set[str] = set()
    open_ = list(direct[key])
    while open_:
        if (ancestor := open_.pop()) not in ancestors:
            ancestors.add(ancestor)
            open_ += direct[ancestor]
    return ancestors


def check_references(steps: Sequence[StepSpec]) -> list[str]:
    """Return the references and conditions that cannot be resolved, whatever the steps return."""
    ancestors = find_ancestors(steps)
    keys = {step.key for step in steps}
    problems: list[str] = []
    for step in steps:
        texts = [*references_in(step.config), *references_in(step.for_each), *references_in(step.when)]
        problems += [
            f"{step.name}: {problem}"
            for text in dict.fromkeys(texts)
            if (problem := _check_reference(text, step, keys, ancestors[step.key])) is not None
        ]
        problems += _check_texts(step)
    return problems


def _check_reference(text: str, step: StepSpec, keys: set[str], ancestors: set[str]) -> str | None:
    try:
        reference = parse_reference(text)
    except ValueError as error:
        return str(error)
    if reference.root == PARAMS:
        return f"${{{text}}} is a parameter of a template that was not given"
    if reference.root in (ITEM, INDEX):
        return None if step.for_each else f"${{{text}}} needs for_each"
    if reference.step not in keys:
        return f"${{{text}}} names an unknown step"
    if reference.step not in ancestors:
        return f"${{{text}}} names a step that is not among its dependencies; add it to depends_on"
    return None


def _check_texts(step: StepSpec) -> list[str]:
    problems: list[str] = []
    if step.when is not None:
        try:
            check_condition(step.when)
        except ValueError as error:
            problems.append(f"{step.name}: when: {error}")
    if step.for_each is not None and not _is_one_reference(step.for_each):
        problems.append(f"{step.name}: for_each is one reference to a list, for example ${{steps.NAME.output.urls}}")
    if step.for_each is not None and ITEM in step.depends_on:
        problems.append(f"{step.name}: a step with for_each cannot depend on a step with the key {ITEM!r}")
    if step.allow_failures and step.for_each is None:
        problems.append(f"{step.name}: allow_failures needs for_each")
    return problems


def _is_one_reference(text: str) -> bool:
    return text.startswith("${") and text.endswith("}") and text.count("${") == 1 and "steps." in text
