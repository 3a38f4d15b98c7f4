"""Parse the definition of a workflow. All problems are reported at once."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from corral.domain.workflows.checks import check_graph, check_references
from corral.domain.workflows.kinds.registry import STEP_KINDS
from corral.domain.workflows.spec import (
    DEFAULT_RECOVERIES,
    DEFAULT_RETRIES,
    MAX_DEFINITION_BYTES,
    MAX_RECOVERIES,
    MAX_RETRIES,
    MAX_STEPS,
    InvalidWorkflow,
    StepSpec,
    WorkflowSpec,
)

_MAX_NAME = 200
_MAX_SECONDS = 30 * 86_400.0
_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_TOP = frozenset({"name", "steps", "max_recovery_attempts", "description"})
_OF_STEP = frozenset(
    {
        *("key", "name", "kind", "config", "depends_on", "dependencies", "max_retries", "timeout"),
        *("estimated_duration", "when", "for_each", "allow_failures", "type"),
    }
)


def parse_workflow(document: Any) -> WorkflowSpec:
    """Parse the workflow of a document; InvalidWorkflow names every problem."""
    if not isinstance(document, Mapping):
        raise InvalidWorkflow(["a definition is an object with `name` and `steps`"])
    problems = [f"{str(name)[:80]!r} is no key of a definition" for name in document if name not in _TOP]
    name = _read_name(document.get("name"), "the workflow", problems)
    recoveries = _read_count(
        document.get("max_recovery_attempts", DEFAULT_RECOVERIES), "max_recovery_attempts", MAX_RECOVERIES, problems
    )
    steps = _read_steps(document.get("steps"), problems)
    if len({step.key for step in steps}) == len(steps):
        problems += check_graph(steps)
    problems += check_references(steps)
    problems += _check_configs(steps)
    problems += _check_size(steps)
    if problems:
        raise InvalidWorkflow(problems)
    return WorkflowSpec(name, tuple(steps), recoveries)


def _check_size(steps: Sequence[StepSpec]) -> list[str]:
    try:
        size = len(orjson.dumps([step.document() for step in steps], option=orjson.OPT_NON_STR_KEYS))
    except TypeError as error:
        return [f"the definition has a value that is not JSON: {error}"]
    return [] if size <= MAX_DEFINITION_BYTES else [f"the definition is larger than {MAX_DEFINITION_BYTES // 1024} KiB"]


def make_key(name: str) -> str:
    """Make a key of this name: a-z and 0-9, with one underscore for everything else. It may be empty."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:64]


def _read_steps(entries: Any, problems: list[str]) -> list[StepSpec]:
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        problems.append("`steps` is a list of steps")
        return []
    if not entries:
        problems.append("the workflow has no steps")
    if len(entries) > MAX_STEPS:
        problems.append(f"the workflow has {len(entries)} steps; at most {MAX_STEPS} are allowed")
        return []
    names = [_name_of(each, number, problems) for number, each in enumerate(entries)]
    keys = _choose_keys(entries, names, problems)
    problems += [f"two steps have the name {name!r}" for name, count in Counter(names).items() if count > 1]
    doubled = [key for key, count in Counter(keys).items() if count > 1]
    problems += [f"two steps have the key {key!r}" for key in doubled if names.count(key) < 2]
    return [_read_step(each, keys, names, number, problems) for number, each in enumerate(entries)]


def _name_of(entry: Any, number: int, problems: list[str]) -> str:
    unnamed = f"step {number}"
    if not isinstance(entry, Mapping):
        return unnamed
    name = entry.get("name")
    if name is None:
        return entry["key"] if isinstance(entry.get("key"), str) and entry["key"] else unnamed
    if not isinstance(name, str) or not name.strip():
        problems.append(f"{unnamed}: name is a text")
        return unnamed
    if len(name.strip()) > _MAX_NAME:
        problems.append(f"{name[:40]}…: the name is longer than {_MAX_NAME} characters")
    return name.strip()[:_MAX_NAME]


def _choose_keys(entries: Sequence[Any], names: Sequence[str], problems: list[str]) -> list[str]:
    """Return the key that each step names, or else a unique one made of its name."""
    named = [_key_of(each, name, problems) for each, name in zip(entries, names, strict=True)]
    used = {key for key in named if key is not None}
    keys = []
    for number, key in enumerate(named):
        chosen = _make_free_key(names[number], number, used) if key is None else key
        used.add(chosen)
        keys.append(chosen)
    return keys


def _make_free_key(name: str, number: int, used: set[str]) -> str:
    base = make_key(name) or f"step_{number}"
    suffixes = ("", *(f"_{more}" for more in range(2, len(used) + 3)))
    return next(key for suffix in suffixes if (key := base[: 64 - len(suffix)] + suffix) not in used)


def _key_of(entry: Any, name: str, problems: list[str]) -> str | None:
    key = entry.get("key") if isinstance(entry, Mapping) else None
    if key is None:
        return None
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        problems.append(f"{name}: key {str(key)[:80]!r} is not made of a-z, 0-9, _ and - (at most 64)")
        return None
    return key


def _read_step(entry: Any, keys: list[str], names: list[str], number: int, problems: list[str]) -> StepSpec:
    name = names[number]
    if not isinstance(entry, Mapping):
        problems.append(f"step {number} is no object")
        return StepSpec(keys[number], name, "")
    problems += [f"{name}: {str(each)[:80]!r} is no key of a step" for each in entry if each not in _OF_STEP]
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in STEP_KINDS:
        kinds = ", ".join(sorted(STEP_KINDS))
        problems.append(f"{name}: there is no step kind {str(kind)[:80]!r}; the kinds are {kinds}")
    config = {} if entry.get("config") is None else entry["config"]
    if not isinstance(config, Mapping):
        problems.append(f"{name}: config is an object")
        config = {}
    of_step = Options(name, entry, problems)
    return StepSpec(
        key=keys[number],
        name=name,
        kind=str(kind),
        config={str(each): value for each, value in config.items()},
        depends_on=_read_dependencies(entry, keys, names, number, problems),
        max_retries=_read_count(
            entry.get("max_retries", DEFAULT_RETRIES), f"{name}: max_retries", MAX_RETRIES, problems
        ),
        timeout_s=of_step.seconds("timeout"),
        estimated_s=of_step.seconds("estimated_duration"),
        when=of_step.text("when"),
        for_each=of_step.text("for_each"),
        allow_failures=of_step.flag("allow_failures"),
        type=of_step.text("type") or str(kind),
    )


class Options:
    """Reads the options of one step, and collects their problems."""

    def __init__(self, name: str, entry: Mapping[str, Any], problems: list[str]) -> None:
        self._name, self._entry, self._problems = name, entry, problems

    def seconds(self, option: str) -> float | None:
        value = self._entry.get(option)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not 0 < value <= _MAX_SECONDS:
            self._problems.append(f"{self._name}: {option} is a number of seconds above 0, at most {_MAX_SECONDS:.0f}")
            return None
        return float(value)

    def text(self, option: str) -> str | None:
        value = self._entry.get(option)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self._problems.append(f"{self._name}: {option} is a text")
        return None

    def flag(self, option: str) -> bool:
        value = self._entry.get(option, False)
        if not isinstance(value, bool):
            self._problems.append(f"{self._name}: {option} is true or false")
        return value is True


def _read_dependencies(
    entry: Mapping[str, Any], keys: list[str], names: list[str], number: int, problems: list[str]
) -> tuple[str, ...]:
    """Return the keys of the steps that keys, names or indexes refer to."""
    if entry.get("depends_on") is not None and entry.get("dependencies") is not None:
        problems.append(f"{names[number]}: depends_on and dependencies are the same; give one of them")
    wanted = entry.get("depends_on") if entry.get("depends_on") is not None else entry.get("dependencies")
    if wanted is None:
        return ()
    if isinstance(wanted, str | int) and not isinstance(wanted, bool):
        wanted = [wanted]
    if not isinstance(wanted, Sequence):
        problems.append(f"{names[number]}: depends_on is a list of steps")
        return ()
    dependencies: list[str] = []
    for reference in wanted:
        key = _find_step(reference, keys, names)
        if key is None:
            problems.append(f"{names[number]}: depends on an unknown step {str(reference)[:80]!r}")
        elif key in dependencies:
            problems.append(f"{names[number]}: depends on {str(reference)[:80]!r} twice")
        else:
            dependencies.append(key)
    return tuple(dependencies)


def _find_step(wanted: Any, keys: list[str], names: list[str]) -> str | None:
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        return keys[wanted] if 0 <= wanted < len(keys) else None
    if wanted in keys:
        return str(wanted)
    return keys[names.index(wanted)] if wanted in names else None


def _read_name(value: Any, what: str, problems: list[str]) -> str:
    if not isinstance(value, str) or not value.strip():
        problems.append(f"{what} has no name")
        return ""
    if len(value) > _MAX_NAME:
        problems.append(f"the name of {what} is longer than {_MAX_NAME} characters")
    return value.strip()[:_MAX_NAME]


def _read_count(value: Any, what: str, maximum: int, problems: list[str]) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        problems.append(f"{what} is a number from 0 to {maximum}, not {str(value)[:40]}")
        return 0
    return value


def _check_configs(steps: Sequence[StepSpec]) -> list[str]:
    return [
        f"{step.name}: {problem}"
        for step in steps
        if step.kind in STEP_KINDS
        for problem in STEP_KINDS[step.kind].find_problems(step.config)
    ]
