"""Files that a run stores: screenshot and HTML of a page that failed, or the output of a script."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

# A younger file without a row may belong to a process that is about to write the row; an older one is an orphan.
UNNAMED_FOR_S = 3600.0
# Delete down to this share of the quota at once, so that not every new file deletes an old one.
_FREED_TO = 0.9
_NAME = re.compile(r"([0-9a-f]{32})(\.png|\.html\.txt|\.stdout\.txt|\.stderr\.txt)")


class ArtifactKind(StrEnum):
    SCREENSHOT = "screenshot"
    HTML = "html"
    STDOUT = "stdout"  # of a script
    STDERR = "stderr"

    @property
    def content_type(self) -> str:
        """Return the media type. Scraped HTML is served as text: otherwise its scripts would run in our origin."""
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
    """A file of the artifact folder."""

    id: str
    name: str
    bytes: int
    age_s: float


def id_in(name: str) -> str | None:
    """Return the id in a file name, or None for a foreign file."""
    match = _NAME.fullmatch(name)
    return match[1] if match else None


def orphans(held: Iterable[HeldFile], named: frozenset[str]) -> list[HeldFile]:
    """Return old files that no run names. A newer file may belong to a process that is about to write its row."""
    return [file for file in held if file.id not in named and file.age_s > UNNAMED_FOR_S]


def beyond_quota(held: Sequence[HeldFile], max_bytes: int) -> list[HeldFile]:
    """Return the oldest files, to delete until the others fit; none while all of them fit."""
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
