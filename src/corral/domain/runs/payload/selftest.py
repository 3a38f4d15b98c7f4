"""Options of a run that only exercises its worker."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

_NOTHING = "nothing"


@dataclass(frozen=True)
class SelftestPayload:
    do: str = _NOTHING
    seconds: float = 0.0
    signal: str = "SIGKILL"
    after_s: float | None = None
    mib: int = 0
    record: bool = False
    echo: str = ""  # part of the record

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**{each.name: document[each.name] for each in fields(cls) if each.name in document})

    def document(self) -> dict[str, Any]:
        """Return only options that differ from their default, as the benchmarks store them."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}
