"""Read the values of a configuration document, and collect their problems."""

import difflib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar, overload

E = TypeVar("E", bound=StrEnum)


class ConfigReader:
    def __init__(self, document: Mapping[str, Any], where: str, problems: list[str]) -> None:
        self.document = document
        self._where = where
        self._problems = problems

    def inner(self, document: Mapping[str, Any], name: str) -> "ConfigReader":
        return ConfigReader(
            document, f"{self._where}: {name}" if ": " not in self._where else f"{self._where}.{name}", self._problems
        )

    def complain(self, name: str, what: str) -> None:
        separator = "." if ": " in self._where else ": "
        self._problems.append(f"{self._where}{separator}{name} {what}")

    def refuse_unknown(self, known: Sequence[str]) -> None:
        for name in self.document:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                meant = f"; did you mean {near[0]}?" if near else f"; the options are {', '.join(known)}"
                self.complain(str(name), f"is unknown{meant}")

    def text(self, name: str, *, required: bool = False) -> str:
        value = self.document.get(name)
        if value is None and not required:
            return ""
        if not isinstance(value, str) or not value.strip():
            self.complain(name, "is missing" if value is None else "has to be a text")
            return ""
        return value.strip()

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.document.get(name)
        if value is None:
            return ()
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
            self.complain(name, "has to be a list of texts")
            return ()
        return tuple(each.strip() for each in value)

    @overload
    def number(self, name: str, usual: int, low: int, high: int) -> int: ...
    @overload
    def number(self, name: str, usual: None, low: int, high: int) -> int | None: ...
    def number(self, name: str, usual: int | None, low: int, high: int) -> int | None:
        value = self.document.get(name)
        if value is None:
            return usual
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.complain(name, f"has to be a whole number from {low} to {high}")
            return usual
        return value

    def flag(self, name: str, usual: bool) -> bool:
        value = self.document.get(name)
        if value is None:
            return usual
        if not isinstance(value, bool):
            self.complain(name, "has to be true or false")
            return usual
        return value

    def choice(self, name: str, kind: type[E], usual: E) -> E:
        value = self.document.get(name)
        if value is None:
            return usual
        if not isinstance(value, str) or value not in set(kind):
            self.complain(name, f"is {value!r}; it has to be one of {', '.join(kind)}")
            return usual
        return kind(value)

    def choices(self, name: str, kind: type[E], usual: tuple[E, ...]) -> tuple[E, ...]:
        value = self.document.get(name)
        if value is None:
            return usual
        values = value if isinstance(value, list) else [value]
        unknown = [each for each in values if not isinstance(each, str) or each not in set(kind)]
        if unknown:
            self.complain(name, f"has {', '.join(map(repr, unknown))}; the values are {', '.join(kind)}")
            return usual
        return tuple(dict.fromkeys(kind(each) for each in values))
