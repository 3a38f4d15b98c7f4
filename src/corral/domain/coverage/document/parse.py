"""Read a data inventory document. Every problem is reported at once, with its path."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from corral.domain.coverage.document.rules import read_absence, read_batch, read_content_rules, read_priorities
from corral.domain.coverage.document.section import Section
from corral.domain.coverage.document.sources import NamedKeys, read_expected, read_inventory
from corral.domain.coverage.document.values import read_season_start
from corral.domain.coverage.season import USUAL_SEASONS
from corral.domain.coverage.spec import (
    FolderInventory,
    Inventory,
    ProductKeys,
    RecordRows,
    S3Inventory,
    SourceKeys,
    SourceSpec,
    SqlRows,
)
from corral.domain.coverage.template import Template, is_name
from corral.domain.coverage.values import DATE_FORMATS, CalendarValues, SeasonValues
from corral.domain.errors import BadConfiguration

_SOURCE_NAMES = (
    *("key", "rules", "parameters", "batch", "priority", "absence", "attempts", "estimated_time_minutes"),
    *("season", "date"),
)
_NAMED_BY_QUEUE = frozenset({"id", "priority", "source", "scraper", "reason", "gap_type", "estimated_time_minutes"})


def parse_inventory(document: Any, origin: str = "data_inventory.yaml") -> list[SourceSpec]:
    """Parse the sources of a document; raise BadConfiguration with every problem if there are any."""
    problems: list[str] = []
    top = Section(document, "", problems)
    top.take("version")
    inner = top.section("sources")
    if inner is None:
        top.report("sources", "is missing")
    top.finish()
    names = [] if inner is None else inner.names
    if inner is not None and not names:
        inner.report("", "names no source")
    sections = {name: each for name in names if inner and (each := inner.section(name)) is not None}
    expected = {name: _read_all_expected(section) for name, section in sections.items()}
    resolved = _resolve_sources(sections, expected)
    read = [_read_source(section, name, resolved[name]) for name, section in sections.items()]
    if problems:
        raise BadConfiguration([f"{origin}: {problem}" for problem in problems])
    return [source for source in read if source is not None]


def _read_source(section: Section, name: str, expected: list[NamedKeys]) -> SourceSpec | None:
    if not is_name(name):
        section.report("", "is no name of a source: use letters, digits and _")
    scraper = section.text("scraper", is_required=True)
    names = expected[0][0] if expected else ()
    inventory = section.section("inventory")
    if inventory is None:
        section.report("inventory", "is missing")
    named_inventory = None if inventory is None else read_inventory(inventory)
    if not expected or named_inventory is None or inventory is None:
        for option in _SOURCE_NAMES:
            section.take(option)
        section.finish()
        return None
    _check_inventory(inventory, named_inventory[0], names)
    source = SourceSpec(
        name=name,
        scraper=scraper,
        names=names,
        key=_read_key(section, names),
        expected=tuple(keys for _, keys in expected),
        inventory=named_inventory[1],
        rules=read_content_rules(section, names),
        parameters=_read_parameters(section, names),
        batch=read_batch(section, names),
        priorities=read_priorities(section, names),
        absence=read_absence(section),
        attempts=section.whole("attempts", 3, minimum=1, maximum=100),
        minutes=_read_minutes(section),
    )
    source = _read_time(section, source)
    _check_rules(section, source)
    section.finish()
    return source


def _read_all_expected(section: Section) -> list[NamedKeys]:
    entries = section.sequence("expected")
    if not entries:
        section.report("expected", "is missing")
    expected: list[NamedKeys] = []
    for index, value in enumerate(entries):
        path = f"expected[{index}]" if len(entries) > 1 else "expected"
        keys = read_expected(section.section_of(value, path))
        if keys is not None:
            expected.append(keys)
    return expected


def _read_key(section: Section, names: Sequence[str]) -> Template:
    default = "/".join(f"{{{name}}}" for name in names)
    template = Template(section.text("key", default))
    if (problem := template.find_problem()) is not None:
        section.report("key", problem)
    for name in names:
        if name not in template.names:
            section.report("key", f"does not contain {{{name}}}: two keys would be the same")
    for name in template.names:
        if name not in names:
            section.report("key", f"{{{name}}} is no dimension of this source: {', '.join(names)}")
    return template if set(template.names) == set(names) else Template(default)


def _check_inventory(section: Section, dimensions: Sequence[str], names: Sequence[str]) -> None:
    lacking = [name for name in names if name not in dimensions]
    if lacking:
        section.report("", f"does not say the dimension {', '.join(lacking)} of what it holds")


def _read_parameters(section: Section, names: Sequence[str]) -> dict[str, Any]:
    inner = section.section("parameters")
    if inner is None:
        return {}
    for name in inner.names:
        if name in names or name in _NAMED_BY_QUEUE:
            inner.report(name, "is set by each task itself")
    return {name: inner.take(name) for name in inner.names}


def _read_minutes(section: Section) -> float:
    value = section.take("estimated_time_minutes", 5)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 100_000:
        section.report("estimated_time_minutes", "expected a number of minutes")
        return 5.0
    return float(value)


def _read_time(section: Section, source: SourceSpec) -> SourceSpec:
    """Find the dimensions that are a season and a date: by configuration, by their values, or by their names."""
    products = [keys for keys in source.expected if isinstance(keys, ProductKeys)]
    dimensions = {name: values for keys in products for name, values in keys.dimensions.items()}
    seasons = {name: each for name, each in dimensions.items() if isinstance(each, SeasonValues)}
    calendars = {name: each for name, each in dimensions.items() if isinstance(each, CalendarValues)}
    season = next(iter(seasons), "season" if "season" in source.names else "")
    starts = seasons[season].calendar if season in seasons else USUAL_SEASONS
    date = next(iter(calendars), next((name for name in ("date", "day") if name in source.names), ""))
    written = (calendars[date].written or DATE_FORMATS[calendars[date].unit]) if date in calendars else "%Y-%m-%d"
    if (inner := section.section("season")) is not None:
        season, starts = _read_dimension(inner, source, season), read_season_start(inner, starts)
        inner.finish()
    if (inner := section.section("date")) is not None:
        date, written = _read_dimension(inner, source, date), inner.text("format", written)
        inner.finish()
    return replace(source, season=season, season_calendar=starts, date=date, date_format=written)


def _read_dimension(section: Section, source: SourceSpec, default: str) -> str:
    name = section.text("dimension", default)
    if name and name not in source.names:
        section.report("dimension", f"{name!r} is no dimension of this source: {', '.join(source.names)}")
    return name


def _check_rules(section: Section, source: SourceSpec) -> None:
    """Report rules that this kind of inventory cannot apply: no rule may be accepted and then ignored."""
    rules, inventory = source.rules, source.inventory
    is_file = isinstance(inventory, FolderInventory)
    if rules.format != "any" and not is_file:
        section.report("rules.format", f"cannot be checked in {_describe(inventory)}; a folder can")
    if rules.manifest and not isinstance(inventory, FolderInventory | S3Inventory):
        section.report("rules.manifest", f"cannot be checked in {_describe(inventory)}")
    if rules.min_bytes > 1 and not (is_file or isinstance(inventory, S3Inventory) or _has(inventory, "size")):
        section.report("rules.min_bytes", f"{_describe(inventory)} has no sizes")
    if rules.fresh and isinstance(inventory, SqlRows) and not _has(inventory, "modified"):
        section.report("rules.fresh", "the query has no column modified")


def _has(inventory: Inventory, column: str) -> bool:
    return isinstance(inventory, SqlRows) and column in inventory.columns


def _describe(inventory: Inventory) -> str:
    names: Mapping[type, str] = {S3Inventory: "an S3 bucket", RecordRows: "records", SqlRows: "a SQL query"}
    return names.get(type(inventory), "a folder")


def _resolve_sources(
    sections: Mapping[str, Section], expected: Mapping[str, list[NamedKeys]]
) -> dict[str, list[NamedKeys]]:
    """Replace `source: NAME` by the expected keys of that source, and check that the dimensions agree."""
    resolved = {}
    for name, section in sections.items():
        keys = _expand(section, expected, (name,))
        for names, _ in keys[1:]:
            if set(names) != set(keys[0][0]):
                problem = f"one has the dimensions {', '.join(keys[0][0])}, another {', '.join(names)}"
                section.report("expected", problem)
        resolved[name] = keys
    return resolved


def _expand(section: Section, expected: Mapping[str, list[NamedKeys]], path: tuple[str, ...]) -> list[NamedKeys]:
    expanded: list[NamedKeys] = []
    for names, keys in expected[path[-1]]:
        if not isinstance(keys, SourceKeys):
            expanded.append((names, keys))
        elif keys.source not in expected:
            section.report("expected.source", f"there is no source {keys.source!r}")
        elif keys.source in path:
            section.report("expected.source", f"{' -> '.join((*path, keys.source))} is a circle")
        else:
            expanded += _expand(section, expected, (*path, keys.source))
    return expanded
