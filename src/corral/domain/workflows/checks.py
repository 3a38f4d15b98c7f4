"""Checks of a definition as a whole: cycles, references, conditions."""

from collections.abc import Sequence

from corral.domain.workflows.condition import check_condition
from corral.domain.workflows.references import INDEX, ITEM, PARAMS, parse_reference, references_in
from corral.domain.workflows.spec import StepSpec


def check_graph(steps: Sequence[StepSpec]) -> list[str]:
    """Steps that depend on themselves, directly or through others."""
    remaining = {step.key: set(step.depends_on) for step in steps}
    while free := [key for key, needs in remaining.items() if not needs & remaining.keys()]:
        for key in free:
            del remaining[key]
    if not remaining:
        return []
    return [f"steps depend on each other in a circle: {' -> '.join(_find_circle(remaining))}"]


def _find_circle(remaining: dict[str, set[str]]) -> list[str]:
    """One circle among steps that wait for each other."""
    path = [next(iter(remaining))]
    while True:
        following = next(key for key in sorted(remaining[path[-1]]) if key in remaining)
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)


def find_ancestors(steps: Sequence[StepSpec]) -> dict[str, set[str]]:
    """Of each step, every step it depends on directly or through others. The graph has no circle."""
    by_key = {step.key: step for step in steps}
    found: dict[str, set[str]] = {}

    def collect(key: str) -> set[str]:
        if key not in found:
            direct = by_key[key].depends_on
            found[key] = set(direct).union(*(collect(each) for each in direct))
        return found[key]

    for key in by_key:
        collect(key)
    return found


def check_references(steps: Sequence[StepSpec]) -> list[str]:
    """References and conditions that cannot be resolved, whatever the steps return."""
    ancestors = find_ancestors(steps)
    known = {step.key for step in steps}
    problems: list[str] = []
    for step in steps:
        texts = [*references_in(step.config), *references_in(step.for_each), *references_in(step.when)]
        problems += [
            f"{step.name}: {problem}"
            for text in dict.fromkeys(texts)
            if (problem := _check_reference(text, step, known, ancestors[step.key])) is not None
        ]
        problems += _check_texts(step)
    return problems


def _check_reference(text: str, step: StepSpec, known: set[str], ancestors: set[str]) -> str | None:
    try:
        reference = parse_reference(text)
    except ValueError as error:
        return str(error)
    if reference.root == PARAMS:
        return f"${{{text}}} is a parameter of a template that was not given"
    if reference.root in (ITEM, INDEX):
        return None if step.for_each else f"${{{text}}} needs for_each"
    if reference.step not in known:
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
    if step.allow_failures and step.for_each is None:
        problems.append(f"{step.name}: allow_failures needs for_each")
    return problems


def _is_one_reference(text: str) -> bool:
    return text.startswith("${") and text.endswith("}") and text.count("${") == 1 and "steps." in text
