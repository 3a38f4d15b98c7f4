"""Files a run leaves behind: what the page looked like when it failed, or what a script printed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# A file without a row was written by a process that died before it could write the row, or is about to.
UNNAMED_FOR_S = 3600.0
# Freed at once down to this share, so that not every new file costs an old one.
_FREED_TO = 0.9
_NAME = re.compile(r"([0-9a-f]{32})(\.png|\.html\.txt|\.stdout\.txt|\.stderr\.txt)")


class ArtifactKind(StrEnum):
    SCREENSHOT = "screenshot"
    HTML = "html"
    STDOUT = "stdout"  # of a script
    STDERR = "stderr"

    @property
    def content_type(self) -> str:
        """The media type of the response. Scraped HTML is never served as HTML: its scripts would run in our origin."""
        return "image/png" if self is ArtifactKind.SCREENSHOT else "text/plain; charset=utf-8"

    @property
    def suffix(self) -> str:
        return ".png" if self is ArtifactKind.SCREENSHOT else f".{self.value}.txt"


@dataclass(frozen=True, slots=True)
class Artifact:
    id: str  # 128 random bits in hexadecimal
    kind: ArtifactKind
    bytes: int

    @property
    def file_name(self) -> str:
        return self.id + self.kind.suffix


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact with the run and the attempt that left it."""

    artifact: Artifact
    run_id: str
    attempt: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A file as it lies in the folder."""

    id: str
    name: str
    bytes: int
    age_s: float


def id_in(name: str) -> str | None:
    """Return the id in a file name, or None for a foreign file."""
    match = _NAME.fullmatch(name)
    return match[1] if match else None


def orphans(held: Iterable[HeldFile], named: frozenset[str]) -> list[HeldFile]:
    """Files that no run names and that no process will name any more."""
    return [file for file in held if file.id not in named and file.age_s > UNNAMED_FOR_S]


def beyond_quota(held: Sequence[HeldFile], max_bytes: int) -> list[HeldFile]:
    """The oldest files to delete until the others fit; none while all of them fit."""
    total = sum(file.bytes for file in held)
    if total <= max_bytes:
        return []
    doomed: list[HeldFile] = []
    for file in sorted(held, key=lambda each: each.age_s, reverse=True):
        if total <= max_bytes * _FREED_TO:
            break
        doomed.append(file)
        total -= file.bytes
    return doomed
