"""Derive a recipe from the calls of a page whose answers contain the extracted values."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any
from urllib.parse import unquote, unquote_plus

from corral.domain.errors import BadInput
from corral.domain.json_path import Where, display_text
from corral.domain.net.url import Target, parse_target
from corral.domain.sites.recipe.answer import WEAK_CHARS, WORDS, RecordedAnswer, ValueSource, plain_name, slot_for
from corral.domain.sites.recipe.recipe import (
    HEADERS,
    MAX_FIELDS,
    METHODS,
    CallTemplate,
    FieldSource,
    Recipe,
    pattern_of,
    recipe_of,
)
from corral.domain.sites.recipe.text import escape, fragment_of, paths_of, segments, slots_in, slots_of

_MAX_COMBINED = 8
_MAX_BODY_DEPTH = 24
# Parameters with small numbers that rarely identify a page.
_COUNTING = frozenset({"page", "limit", "offset", "size", "count", "first", "take", "skip", "perpage", "v", "version"})
_SECRET = re.compile(
    r"(?i)token|secret|session|passw|signature|jwt|api_?key|credential|authoriz|authent|^(?:auth|sid|sig|key)$"
)


@dataclass(frozen=True, slots=True)
class Call:
    """One JSON call of a page: request body and answer, both parsed."""

    method: str
    url: str
    headers: Mapping[str, str]
    answer: Any
    body: Any = None


def derive(page_url: str, calls: Sequence[Call], record: Mapping[str, Any]) -> Recipe | None:
    """Return a recipe that fills every field of the record, or None if the calls do not contain them."""
    wanted = {name: value for name, value in record.items() if value not in (None, "", [], {})}
    if not wanted or 2 * len(wanted) <= len(record) or len(wanted) > MAX_FIELDS:
        return None
    target = parse_target(page_url, max_chars=8192)
    slots = _varying(target)
    plans = [plan for call in calls if (plan := _plan_call(call, target, slots, wanted)) is not None]
    chosen = _choose_plans(plans, wanted)
    return None if chosen is None else _recipe(chosen, wanted, target)


# -- which calls --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Plan:
    call: CallTemplate
    answer: Any
    found: dict[str, ValueSource] = field(default_factory=dict)

    @property
    def slots(self) -> set[str]:
        in_paths = {step.slot for each in self.found.values() for step in _steps(each) if isinstance(step, Where)}
        return {
            slot for slot in (*_all_slots(self.call.url), *_all_slots(self.call.body), *in_paths) if slot != "origin"
        }


def _steps(source: ValueSource) -> Iterator[Any]:
    for path in (*paths_of(source.source), source.each or ()):
        yield from path


def _all_slots(value: Any) -> set[str]:
    if isinstance(value, str):
        return slots_in(value.replace(":number}", "}"))
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*map(_all_slots, inside))


def _plan_call(call: Call, target: Target, slots: Mapping[str, str], wanted: Mapping[str, Any]) -> _Plan | None:
    template = _template(call, target, slots)
    if template is None:
        return None
    answer = RecordedAnswer(call.answer, slots)
    plan = _Plan(template, call.answer)
    for name, value in wanted.items():
        source = answer.source_of(name, value)
        if source is not None:
            plan.found[name] = source
    return plan if plan.found else None


def _choose_plans(plans: Sequence[_Plan], wanted: Mapping[str, Any]) -> Sequence[_Plan] | None:
    """Choose the fewest calls; among those, prefer calls that depend on the page's URL, then the simplest paths."""
    best = sorted(plans, key=lambda plan: -len(plan.found))[:_MAX_COMBINED]
    for count in (1, 2, 3):
        full = [group for group in combinations(best, count) if wanted.keys() <= _covers(group)]
        if full:
            return min(full, key=_rank)
    return None


def _covers(group: Iterable[_Plan]) -> set[str]:
    return {name for plan in group for name in plan.found}


def _rank(group: Sequence[_Plan]) -> tuple[Any, ...]:
    costs = [source.cost for plan in group for source in plan.found.values()]
    return (
        sum(not plan.slots for plan in group),
        *(sum(column) for column in zip(*costs, strict=True)),
        sum(plan.call.method != "GET" for plan in group),
        [plan.call.url for plan in group],
    )


def _recipe(plans: Sequence[_Plan], wanted: Mapping[str, Any], target: Target) -> Recipe | None:
    sources = {}
    for name in wanted:
        number, found = min(
            ((number, plan.found[name]) for number, plan in enumerate(plans) if name in plan.found),
            key=lambda each: (each[1].cost, each[0]),
        )
        sources[name] = FieldSource(number, found.source, found.each)
    varying = set().union(*(plan.slots for plan in plans))
    if varying:
        varying |= _slug_slots(target, wanted)
    recipe = Recipe(pattern_of(target, varying), tuple(plan.call for plan in plans), sources)
    try:
        # Parse it as strictly as a recipe that a person writes: a page must not bypass the checks.
        read = recipe_of(recipe.url_pattern, recipe.document())
    except BadInput:
        return None
    return read if read.read([plan.answer for plan in plans], target) == wanted else None


# -- the call as a template ---------------------------------------------------------------------------------


def _varying(target: Target) -> dict[str, str]:
    """Return the slots that may identify the page; `shop` in /shop/17 is none."""
    paths, hashes = segments(target.path), segments(fragment_of(target))
    slots = {}
    for name, value in slots_of(target).items():
        kind, _, rest = name.partition(".")
        if kind in ("path", "hash"):
            inside = paths if kind == "path" else hashes
            index = int(rest.partition(".")[0])
            is_identifying = index == len(inside) - 1 or any(char.isdigit() for char in inside[index])
        else:
            is_identifying = kind == "query"
        if is_identifying and value:
            slots[name] = value
    return dict(sorted(slots.items(), key=lambda item: item[0].count(".")))


def _slug_slots(target: Target, wanted: Mapping[str, Any]) -> set[str]:
    """Return the segments that only repeat a value, as in /shop/17/oak-gate-latch."""
    texts = [set(WORDS.findall(value.lower())) for value in wanted.values() if isinstance(value, str)]
    repeated = set()
    for index, segment in enumerate(segments(target.path)):
        words = set(WORDS.findall(segment.lower()))
        if words and any(words <= text for text in texts) and index > 0:
            repeated.add(f"path.{index}")
    return repeated


def _template(call: Call, target: Target, slots: Mapping[str, str]) -> CallTemplate | None:
    try:
        called = parse_target(call.url, max_chars=8192)
    except BadInput:
        return None
    pairs = [piece.partition("=") for piece in (called.query or "").split("&") if piece]
    if (
        call.method not in METHODS
        or _is_unfit(call.body)
        or any(_SECRET.search(unquote_plus(name)) for name, _, _ in pairs)
    ):
        return None
    origin = "{origin}" if called.origin == target.origin else called.origin
    path = "/".join(_segment(piece, slots) for piece in called.path.split("/"))
    query = "&".join(f"{name}{sign}{_value(name, value, slots)}" for name, sign, value in pairs)
    headers = {name.lower(): value for name, value in call.headers.items() if name.lower() in HEADERS}
    body = None if call.method == "GET" else _body(call.body, slots)
    return CallTemplate(call.method, origin + path + (f"?{query}" if query else ""), headers, body)


def _is_unfit(value: Any) -> bool:
    """True for a body that is nested too deeply or has a key that names a secret."""
    level = [value]
    for _ in range(_MAX_BODY_DEPTH):
        if any(_SECRET.search(key) for inside in level if isinstance(inside, dict) for key in inside):
            return True
        level = [
            each
            for inside in level
            for each in (inside.values() if isinstance(inside, dict) else inside if isinstance(inside, list) else ())
        ]
    return bool(level)


def _segment(piece: str, slots: Mapping[str, str]) -> str:
    text = unquote(piece)
    slot = slot_for(text, slots)
    if slot:
        return f"{{{slot}}}"
    stem, dot, ending = text.rpartition(".")
    slot = slot_for(stem, slots) if dot and ending.isalnum() else None
    return f"{{{slot}}}.{ending}" if slot else piece


def _value(name: str, value: str, slots: Mapping[str, str]) -> str:
    slot = slot_for(unquote_plus(value), slots)
    return f"{{{slot}}}" if slot and _names_page(name, slot, slots) else value


def _names_page(key: str, slot: str, slots: Mapping[str, str]) -> bool:
    if len(slots[slot]) >= WEAK_CHARS or slot == f"query.{key}":
        return True
    return plain_name(key) not in _COUNTING


def _body(value: Any, slots: Mapping[str, str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _body(each, slots, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_body(each, slots, key) for each in value]
    text = display_text(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
    slot = slot_for(text, slots) if text else None
    if slot and _names_page(key, slot, slots):
        return f"{{{slot}}}" if isinstance(value, str) else f"{{{slot}:number}}"
    return escape(value) if isinstance(value, str) else value
