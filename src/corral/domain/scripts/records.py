"""Where the records of a script come from."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self


class RecordsFrom(StrEnum):
    STDOUT = "stdout"  # JSON lines; the result protocol is read in any case, on its own descriptor
    FILE = "file"  # a file that the script writes: JSON lines, one JSON array, or CSV
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RecordSource:
    """`stdout`, `none`, or `file:PATH` (relative to the folder in which the script runs)."""

    kind: RecordsFrom = RecordsFrom.STDOUT
    path: str = ""

    @classmethod
    def of(cls, text: Any) -> Self:
        name, _, path = str(text).partition(":")
        if text is False:
            return cls(RecordsFrom.NONE)
        if name not in set(RecordsFrom) or (name == RecordsFrom.FILE) != bool(path) or "\0" in path:
            raise ValueError(f"{str(text)[:80]!r} is not one of stdout, none, file:PATH")
        return cls(RecordsFrom(name), path)

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.path}" if self.path else self.kind.value


ON_STDOUT = RecordSource()
