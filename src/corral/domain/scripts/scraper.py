"""A scraper: a named script, as `scraper_config.yaml` describes it. Every problem of the file is reported."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from corral.domain.scripts.limits import LIMIT_NAMES, USUAL_LIMITS, ScriptLimits
from corral.domain.scripts.records import ON_STDOUT, RecordSource

SCRAPER_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
DEFAULT_PROJECT = "default"
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
OWN_PREFIX = "APP_"  # the settings of Corral, with its secrets
MAX_ATTEMPTS = 10
MAX_CONCURRENT = 1000
_PARAMETER_TYPES = ("string", "integer", "number", "boolean", "list")
_TYPE_ALIASES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "array": "list"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """A parameter that a scraper accepts."""

    name: str
    type: str | None = None  # None: any
    is_required: bool = False
    choices: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class ScraperRate:
    """How often tasks of the scraper may start; up to `burst` of them may start at once."""

    per_second: float
    burst: int = 1


@dataclass(frozen=True, slots=True)
class ScraperRetry:
    attempts: int | None = None  # None: the installation's default
    base_s: float | None = None
    cap_s: float | None = None


@dataclass(frozen=True, slots=True)
class ScraperSpec:
    """`command` starts the script: the interpreter and the file, or the file alone. The registry fills it in."""

    name: str
    script: str | None = None  # as the configuration names it; None: found by its name in the folders
    command: tuple[str, ...] = ()
    cwd: str = ""
    parameters: tuple[ParameterSpec, ...] | None = None  # None: any parameter is passed
    timeout_s: float | None = None
    rate: ScraperRate | None = None
    retry: ScraperRetry = ScraperRetry()
    max_concurrent: int | None = None
    storage: dict[str, Any] = field(default_factory=dict)
    custom_settings: dict[str, Any] = field(default_factory=dict)
    env: tuple[str, ...] = ()  # names of variables that the script may see
    limits: ScriptLimits = USUAL_LIMITS
    records: RecordSource = ON_STDOUT
    uses_proxy: bool = True  # its requests pass Corral's forward proxy
    project: str = DEFAULT_PROJECT  # under which clients of scrapyd find it
    unused: tuple[str, ...] = ()  # keys of the configuration that Corral does not use


@dataclass(frozen=True, slots=True)
class ScraperDocument:
    scrapers: dict[str, ScraperSpec]
    problems: tuple[str, ...]  # each names its key
    unused: tuple[str, ...]  # keys of the file that Corral does not use


class _Reader:
    """Reads one mapping, and collects its problems."""

    def __init__(self, where: str, values: Mapping[str, Any], problems: list[str]) -> None:
        self.where = where
        self.values = values
        self.problems = problems
        self.seen: set[str] = set()

    def take(self, names: str | tuple[str, ...], convert: Callable[[Any], T], default: T) -> T:
        """Return the converted value under the first of these names; the default if it is missing or wrong."""
        for name in (names,) if isinstance(names, str) else names:
            self.seen.add(name)
            if self.values.get(name) is None:
                continue
            try:
                return convert(self.values[name])
            except ValueError as error:
                self.problems.append(f"{self.where}.{name}: {error}")
                return default
        return default

    def read_mapping(self, name: str, shorthand: str | None = None) -> "_Reader":
        """Return a reader of the mapping under a name; a bare value stands for its shorthand key."""
        self.seen.add(name)
        value = self.values.get(name)
        if shorthand is not None and value is not None and not isinstance(value, Mapping):
            value = {shorthand: value}
        if value is not None and not isinstance(value, Mapping):
            self.problems.append(f"{self.where}.{name}: must be a mapping")
            value = None
        return _Reader(f"{self.where}.{name}", value or {}, self.problems)

    def list_unused(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.values if name not in self.seen)


def parse_scrapers(document: object) -> ScraperDocument:
    """Parse the `scrapers:` document. A scraper with a problem is left out."""
    if document is None:
        return ScraperDocument({}, (), ())
    if not isinstance(document, Mapping):
        return ScraperDocument({}, ("the file must be a mapping with the key `scrapers`",), ())
    listed = document.get("scrapers")
    if listed is None:
        listed = {}
    if not isinstance(listed, Mapping):
        return ScraperDocument({}, ("scrapers: must be a mapping of names to scrapers",), ())
    problems: list[str] = []
    scrapers: dict[str, ScraperSpec] = {}
    for name, values in listed.items():
        own: list[str] = []
        spec = _parse_scraper(name, values, own)
        problems += own
        if spec is not None and not own:
            scrapers[spec.name] = spec
    unused = tuple(str(key) for key in document if key != "scrapers")
    return ScraperDocument(scrapers, tuple(problems), unused)


def _parse_scraper(name: object, values: object, problems: list[str]) -> ScraperSpec | None:
    where = f"scrapers.{str(name)[:80]}"
    if not isinstance(name, str) or not SCRAPER_NAME.fullmatch(name):
        problems.append(f"{where}: a name has a-z, 0-9 and _, begins with a letter and has at most 64 characters")
        return None
    if values is None:
        values = {}
    if isinstance(values, str):
        values = {"script": values}
    if not isinstance(values, Mapping):
        problems.append(f"{where}: must be a mapping")
        return None
    reader = _Reader(where, values, problems)
    rate, retry = reader.read_mapping("rate_limit", "requests_per_second"), reader.read_mapping("retry", "max_attempts")
    return ScraperSpec(
        name=name,
        script=reader.take("script", _text, ""),
        parameters=_parse_parameters(reader),
        timeout_s=reader.take(("timeout", "timeout_s", "timeout_seconds"), _optional(_positive), None),
        rate=_parse_rate(rate),
        retry=ScraperRetry(
            attempts=retry.take(("max_attempts", "attempts"), _optional(_count(MAX_ATTEMPTS)), None),
            base_s=retry.take(("base_delay", "backoff", "backoff_s", "delay"), _optional(_positive), None),
            cap_s=retry.take(("max_delay", "cap_s"), _optional(_positive), None),
        ),
        max_concurrent=reader.take(("max_concurrent", "concurrency"), _optional(_count(MAX_CONCURRENT)), None),
        storage=reader.take("storage", _mapping, {}),
        custom_settings=reader.take("custom_settings", _mapping, {}),
        env=reader.take("env", _env_names, ()),
        limits=_parse_limits(reader),
        records=reader.take("records", RecordSource.of, ON_STDOUT),
        uses_proxy=reader.take("use_proxy", _flag, True),
        project=reader.take("project", _project, DEFAULT_PROJECT),
        unused=(
            *reader.list_unused(),
            *(f"{part.where.rpartition('.')[2]}.{key}" for part in (rate, retry) for key in part.list_unused()),
        ),
    )


def _parse_rate(rate: _Reader) -> ScraperRate | None:
    second = rate.take(("requests_per_second", "per_second"), _optional(_positive), None)
    minute = rate.take(("requests_per_minute", "per_minute"), _optional(_positive), None)
    burst = rate.take(("burst_size", "burst"), _count(10_000), 1)
    per_second = second if second is not None else None if minute is None else minute / 60
    return None if per_second is None else ScraperRate(per_second, burst)


def _parse_limits(reader: _Reader) -> ScriptLimits:
    listed = reader.read_mapping("limits")
    values = {name: listed.take(name, _optional(_count(10**9)), None) for name in LIMIT_NAMES}
    for name in listed.list_unused():
        listed.problems.append(f"{listed.where}.{name}: there is no such limit; known: {', '.join(LIMIT_NAMES)}")
    return ScriptLimits.parse({name: value for name, value in values.items() if value is not None})


def _parse_parameters(reader: _Reader) -> tuple[ParameterSpec, ...] | None:
    reader.seen.add("accepted_parameters")
    listed = reader.values.get("accepted_parameters")
    if listed is None:
        return None
    where = f"{reader.where}.accepted_parameters"
    if isinstance(listed, Mapping):
        entries = list(listed.items())
    elif isinstance(listed, list):
        entries = [(each.get("name"), each) if isinstance(each, Mapping) else (each, None) for each in listed]
    else:
        reader.problems.append(f"{where}: must be a list of names or a mapping of names to rules")
        return ()
    parameters = [_parse_parameter(where, name, rules, reader.problems) for name, rules in entries]
    return tuple(each for each in parameters if each is not None)


def _parse_parameter(where: str, name: object, rules: object, problems: list[str]) -> ParameterSpec | None:
    plain = normalize_parameter(name) if isinstance(name, str) else ""
    if not SCRAPER_NAME.fullmatch(plain):
        problems.append(f"{where}: {str(name)[:80]!r} is no name of a parameter")
        return None
    if isinstance(rules, str):
        rules = {"type": rules}
    reader = _Reader(f"{where}.{plain}", rules if isinstance(rules, Mapping) else {}, problems)
    reader.seen.update(("name", "description", "help", "default", "example"))
    spec = ParameterSpec(
        plain,
        type=reader.take("type", _optional(_parameter_type), None),
        is_required=reader.take("required", _flag, False),
        choices=reader.take(("choices", "enum"), _texts, ()),
        pattern=reader.take("pattern", _optional(_pattern), None),
    )
    problems.extend(f"{where}.{plain}.{key}: there is no such rule" for key in reader.list_unused())
    return spec


def normalize_parameter(name: str) -> str:
    """Return the canonical name: `--game-ids`, `game-ids` and `game_ids` are one parameter."""
    return name.removeprefix("--").replace("-", "_")


def _optional(convert: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return convert


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list")
    return tuple(str(each) for each in value)


def _env_names(value: Any) -> tuple[str, ...]:
    names = _texts(value)
    wrong = [name for name in names if not ENV_NAME.fullmatch(name)]
    if wrong:
        raise ValueError(f"{wrong[0][:80]!r} is no name of a variable; list names, not values")
    if any(name.startswith(OWN_PREFIX) for name in names):
        raise ValueError(f"variables that begin with {OWN_PREFIX} are settings of Corral and are not passed on")
    return names


def _project(value: Any) -> str:
    if not isinstance(value, str) or not PROJECT_NAME.fullmatch(value):
        raise ValueError("must be a name of letters, digits and _ . -")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a mapping")
    return dict(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _positive(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise ValueError("must be a number above 0")
    return float(value)


def _count(maximum: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= maximum:
            raise ValueError(f"must be a whole number from 1 to {maximum}")
        return value

    return convert


def _parameter_type(value: Any) -> str:
    name = _TYPE_ALIASES.get(str(value), str(value))
    if name not in _PARAMETER_TYPES:
        raise ValueError(f"there is no type {str(value)[:40]!r}; known: {', '.join(_PARAMETER_TYPES)}")
    return name


def _pattern(value: Any) -> str:
    try:
        re.compile(_text(value))
    except re.error as error:
        raise ValueError(f"is no pattern: {error}") from None
    return str(value)
