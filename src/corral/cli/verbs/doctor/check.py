"""One line of `corral doctor`."""

from dataclasses import dataclass
from enum import StrEnum


class CheckStatus(StrEnum):
    FINE = "✓"
    WATCH = "!"
    WRONG = "✗"
    INFO = "·"


@dataclass(frozen=True, slots=True)
class Check:
    verdict: CheckStatus
    name: str
    finding: str
    remedy: str = ""

    def shape(self) -> dict[str, str]:
        words = {"✓": "ok", "!": "warning", "✗": "wrong", "·": "info"}
        return {"name": self.name, "verdict": words[self.verdict], "found": self.finding, "remedy": self.remedy}
