"""How far the data of a run may differ from earlier runs of its job."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.errors import BadInput

MAX_HISTORY = 1_000
MAX_IGNORED = 200
OFF = "off"
_NAMES = ("enabled", "min_history", "drop", "ignore")


@dataclass(frozen=True, slots=True)
class Thresholds:
    is_on: bool = True
    min_history: int = 5  # good runs before a run is judged
    drop: float = 0.3  # of a fill rate or a number of records, as a share
    ignore: tuple[str, ...] = ()  # fields that are not judged

    def document(self) -> dict[str, Any]:
        return {
            "enabled": self.is_on,
            "min_history": self.min_history,
            "drop": self.drop,
            "ignore": list(self.ignore),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any], *, field: str = "quality") -> "Thresholds":
        """Parse thresholds; missing ones get their default. BadInput names the problem."""
        for name in document:
            if name not in _NAMES:
                hint = f"thresholds: {', '.join(_NAMES)}"
                raise BadInput(f"{str(name)[:80]!r} is no threshold", field=f"{field}.{str(name)[:80]}", hint=hint)
        plain = cls()
        return cls(
            _read_flag(document.get("enabled", plain.is_on), f"{field}.enabled"),
            _read_count(document.get("min_history", plain.min_history), f"{field}.min_history"),
            _read_share(document.get("drop", plain.drop), f"{field}.drop"),
            _read_names(document.get("ignore", ()), f"{field}.ignore"),
        )

    @classmethod
    def parse(cls, text: str, *, field: str = "quality") -> "Thresholds":
        """Read `off`, `on`, or `NAME=VALUE` with commas between; `ignore` takes names with `+` between."""
        if text.strip() in (OFF, "on"):
            return cls(is_on=text.strip() != OFF)
        document: dict[str, Any] = {}
        for part in text.split(","):
            name, equals, value = (each.strip() for each in part.partition("="))
            if not equals:
                hint = "for example --quality off, or --quality drop=0.5,min_history=3"
                raise BadInput(f"{part.strip()[:80]!r} is not NAME=VALUE", field=field, hint=hint)
            document[name] = _READERS[name](value) if name in _READERS else value
        return cls.of(document, field=field)


USUAL_THRESHOLDS = Thresholds()


def _to_number(text: str) -> Any:
    try:
        return int(text) if text.isascii() and text.isdigit() else float(text)
    except ValueError:
        return text


def _to_flag(text: str) -> Any:
    return {"true": True, "false": False}.get(text, text)


def _to_names(text: str) -> list[str]:
    return [name for name in text.split("+") if name]


_READERS: dict[str, Callable[[str], Any]] = {
    "enabled": _to_flag,
    "min_history": _to_number,
    "drop": _to_number,
    "ignore": _to_names,
}


def _read_flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput("true or false is expected", field=field)
    return value


def _read_count(value: object, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_HISTORY:
        raise BadInput("a whole number of runs is expected", field=field, hint=f"write 1 to {MAX_HISTORY}")
    return value


def _read_share(value: object, field: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.05 <= value <= 1:
        raise BadInput("a share is expected", field=field, hint="write 0.05 to 1; 0.3 is a drop by 30 %")
    return float(value)


def _read_names(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise BadInput("a list of field names is expected", field=field, hint='for example ["headline"]')
    if len(value) > MAX_IGNORED:
        raise BadInput(f"there are more than {MAX_IGNORED} names", field=field)
    return tuple(dict.fromkeys(value))
