"""Read the rules of a source: content, freshness, priorities, batches, absences."""

from collections.abc import Sequence

from corral.domain.coverage.condition import DEFAULT_PRIORITIES, Condition, FreshnessRule, PriorityRule
from corral.domain.coverage.document.section import Section, show
from corral.domain.coverage.gap import GapType
from corral.domain.coverage.spans import format_span, read_span
from corral.domain.coverage.spec import AbsenceRules, Batching, ContentFormat, ContentRules
from corral.domain.jobs.job import Priority

_DEFAULT_ABSENCE = AbsenceRules()
_MAX_BATCH = 10_000


def read_content_rules(parent: Section, names: Sequence[str]) -> ContentRules:
    section = parent.section("rules")
    if section is None:
        return ContentRules()
    formats = [each.value for each in ContentFormat]
    rules = ContentRules(
        section.whole("min_bytes", 1),
        ContentFormat(section.choice("format", formats, ContentFormat.ANY.value)),
        _read_freshness(section, names),
        section.text("manifest") or None,
    )
    section.finish()
    return rules


def _read_freshness(parent: Section, names: Sequence[str]) -> tuple[FreshnessRule, ...]:
    """Read one span for every key, or a list of rules of which the first match applies."""
    rules = []
    for index, value in enumerate(parent.sequence("fresh")):
        if (span := read_span(value)) is not None:
            rules.append(FreshnessRule(span))
            continue
        section = parent.section_of(value, f"fresh[{index}]")
        within_s = section.seconds("within")
        if within_s is None:
            section.report("within", "is missing")
        condition = _read_condition(section, names, concerns_gaps=False)
        section.finish()
        rules.append(FreshnessRule(within_s or 0.0, condition))
    return tuple(rules)


def read_priorities(parent: Section, names: Sequence[str]) -> tuple[PriorityRule, ...]:
    if "priority" not in parent:
        return DEFAULT_PRIORITIES
    rules = []
    levels = [each.label for each in Priority]
    for index, value in enumerate(parent.sequence("priority")):
        name = f"priority[{index}]"
        if isinstance(value, str) and value.lower() in levels:
            rules.append(PriorityRule(Condition(), Priority[value.upper()], f"{value.lower()} by rule"))
            continue
        section = parent.section_of(value, name)
        if "is" not in section:
            section.report("is", "is missing: critical, high, medium or low")
        level = section.choice("is", levels, "low")
        reason = section.text("reason", f"{level} by rule")
        condition = _read_condition(section, names, concerns_gaps=True)
        section.finish()
        rules.append(PriorityRule(condition, Priority[level.upper()], reason))
    return tuple(rules)


def _read_condition(parent: Section, names: Sequence[str], *, concerns_gaps: bool) -> Condition:
    section = parent.section("when")
    if section is None:
        return Condition()
    within = section.take("within_days")
    if within is not None and (isinstance(within, bool) or not isinstance(within, int)):
        section.report("within_days", f"expected a number of days, found {show(within)}")
        within = None
    seasons = _read_seasons_back(section)
    where = _read_where(section, names)
    gap_types, below = frozenset[GapType](), None
    if concerns_gaps:
        gap_types = _read_gap_types(section)
        below = section.take("completeness_below")
        if below is not None and (
            isinstance(below, bool) or not isinstance(below, int | float) or not 0 < below <= 100
        ):
            section.report("completeness_below", f"expected a number up to 100, found {show(below)}")
            below = None
    section.finish()
    return Condition(within, seasons, where, gap_types, below)


def _read_seasons_back(section: Section) -> int | None:
    """Read `season: current`, or `seasons_back: 2` for the current season and the two before it."""
    current, back = section.take("season"), section.take("seasons_back")
    if current is not None and current != "current":
        section.report("season", f"expected current, found {show(current)}; use where for other seasons")
    if back is not None and (isinstance(back, bool) or not isinstance(back, int) or back < 0):
        section.report("seasons_back", f"expected a number of seasons, found {show(back)}")
        return None
    return 0 if current == "current" else back


def _read_where(section: Section, names: Sequence[str]) -> dict[str, frozenset[str]]:
    inner = section.section("where")
    if inner is None:
        return {}
    for name in inner.names:
        if name not in names:
            inner.report(name, f"is no dimension of this source: {', '.join(names)}")
    return {name: frozenset(str(each) for each in inner.sequence(name)) for name in inner.names}


def _read_gap_types(section: Section) -> frozenset[GapType]:
    names = [each.value for each in GapType]
    requested = [str(each).lower() for each in section.sequence("gap")]
    for name in requested:
        if name not in names:
            section.report("gap", f"{name!r} is not one of {', '.join(names)}")
    return frozenset(GapType(name) for name in requested if name in names)


def read_batch(parent: Section, names: Sequence[str]) -> Batching:
    """Read the batching. `batch: 50` collects values of the last dimension under its plural, such as `game_ids`."""
    if "batch" not in parent:
        parent.take("batch")
        return Batching()
    if isinstance(parent.take("batch"), int):
        return Batching(parent.whole("batch", 1, minimum=1, maximum=_MAX_BATCH), names[-1], f"{names[-1]}s")
    section = parent.section("batch")
    assert section is not None
    size, of = section.whole("size", 1, minimum=1, maximum=_MAX_BATCH), section.text("of", names[-1])
    if of not in names:
        section.report("of", f"{of!r} is no dimension of this source: {', '.join(names)}")
    parameter = section.text("as", f"{of}s")
    section.finish()
    return Batching(size, of, parameter)


def read_absence(parent: Section) -> AbsenceRules:
    section = parent.section("absence")
    if section is None:
        return _DEFAULT_ABSENCE
    confirmations = section.whole("confirmations", _DEFAULT_ABSENCE.confirmations, minimum=1, maximum=100)
    recheck_s = section.seconds("recheck_after", _DEFAULT_ABSENCE.recheck_s)
    section.finish()
    assert recheck_s is not None
    if recheck_s < 60:
        section.report("recheck_after", f"{format_span(recheck_s)} is too short: at least a minute")
    return AbsenceRules(confirmations, recheck_s)
