"""Read a mapping of a configuration document, and collect every problem with its path."""

import difflib
from collections.abc import Collection, Mapping
from typing import Any

from corral.domain.coverage.spans import read_span


class Section:
    """One mapping of the document. `finish` reports the names that were never read."""

    def __init__(self, value: Any, path: str, problems: list[str]) -> None:
        self.path = path
        self._problems = problems
        self._names: list[str] = []
        if not isinstance(value, Mapping):
            self.report("", f"expected a mapping, found {show(value)}")
            value = {}
        self._values: dict[str, Any] = {str(name): each for name, each in value.items()}

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def report(self, name: str, problem: str) -> None:
        self._problems.append(f"{self.locate(name)}: {problem}" if self.path or name else problem)

    def locate(self, name: str) -> str:
        return ".".join(part for part in (self.path, name) if part)

    def take(self, name: str, default: Any = None) -> Any:
        self._names.append(name)
        return self._values.get(name, default)

    def section(self, name: str) -> "Section | None":
        """Return the mapping under this name, or None."""
        value = self.take(name)
        return None if value is None else Section(value, self.locate(name), self._problems)

    def section_of(self, value: Any, name: str) -> "Section":
        """Return a mapping inside a list of this section."""
        return Section(value, self.locate(name), self._problems)

    def text(self, name: str, default: str = "", *, is_required: bool = False) -> str:
        value = self.take(name)
        if value is None:
            if is_required:
                self.report(name, "is missing")
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.report(name, f"expected text, found {show(value)}")
            return default
        return str(value)

    def whole(self, name: str, default: int, *, minimum: int = 0, maximum: int = 10**12) -> int:
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            self.report(name, f"expected a whole number, found {show(value)}")
            return default
        if not minimum <= value <= maximum:
            self.report(name, f"{value} is not between {minimum} and {maximum}")
            return default
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.take(name, default)
        if not isinstance(value, bool):
            self.report(name, f"expected true or false, found {show(value)}")
            return default
        return value

    def seconds(self, name: str, default: float | None = None) -> float | None:
        """Read a span of time such as `24h` or `7d`, in seconds."""
        value = self.take(name)
        if value is None:
            return default
        span_s = read_span(value)
        if span_s is None:
            self.report(name, f"expected a span of time such as 24h or 7d, found {show(value)}")
        return default if span_s is None else span_s

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        value = self.take(name, default)
        if not isinstance(value, str) or value.lower() not in choices:
            self.report(name, f"{show(value)} is not one of {', '.join(choices)}")
            return default
        return value.lower()

    def sequence(self, name: str) -> list[Any]:
        """Return a list; a single value becomes a list of one."""
        value = self.take(name)
        if value is None:
            return []
        return list(value) if isinstance(value, list | tuple) else [value]

    def finish(self) -> None:
        known = sorted(set(self._names))
        for name in self._values:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
                self.report(name, f"unknown name; {hint}")


def show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
