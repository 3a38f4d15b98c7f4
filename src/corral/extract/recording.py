"""Recorded pages: what a reader needs to read one again, and the comparison of its output with the expected one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.outcome import Failed
from corral.extract.page_reader import ReadAnswer, ReadRequest

VERSION = 1
# The headers that reading or classifying a page depends on. All others are left out: some hold secrets.
_HEADERS = frozenset(
    {
        *("content-type", "content-language", "x-robots-tag", "retry-after", "server", "cf-mitigated"),
        *("x-amzn-waf-action", "x-sucuri-block", "x-dd-b", "x-datadome", "x-iinfo"),
    }
)
_SET_COOKIE = "set-cookie"
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class RecordedPage:
    url: str
    requested_url: str
    status: int
    strategy: str
    recorded_at: datetime  # every later reading uses this as the current time
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def to_request(self, fields: tuple[FieldSpec, ...]) -> ReadRequest:
        return ReadRequest(
            self.body, self.url, self.requested_url, self.status, self.headers, fields, now=self.recorded_at
        )

    def document(self) -> dict[str, Any]:
        """Return everything but the body, for `page.json`."""
        return {
            "version": VERSION,
            "url": self.url,
            "requested_url": self.requested_url,
            "status": self.status,
            "strategy": self.strategy,
            "recorded_at": self.recorded_at.astimezone(UTC).isoformat(),
            "headers": [list(pair) for pair in self.headers],
        }


def parse_recorded_page(document: Any, body: bytes) -> RecordedPage:
    try:
        if document["version"] != VERSION:
            raise BadInput(f"page.json has version {str(document['version'])[:20]}; this program reads {VERSION}")
        recorded_at = datetime.fromisoformat(document["recorded_at"])
        return RecordedPage(
            url=_text(document["url"]),
            requested_url=_text(document["requested_url"]),
            status=int(document["status"]),
            strategy=_text(document["strategy"]),
            recorded_at=recorded_at if recorded_at.tzinfo else recorded_at.replace(tzinfo=UTC),
            headers=tuple((_text(name), _text(value)) for name, value in document["headers"]),
            body=body,
        )
    except KeyError as missing:
        raise BadInput(f"page.json lacks {missing}") from None
    except (TypeError, ValueError) as error:
        raise BadInput(f"page.json is not a recorded page: {error}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def recordable_headers(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the headers that matter to a reader, without secrets.

    Cookies lose their values: their names alone identify a bot detection.
    """
    chosen = []
    for name, value in headers:
        lower = name.lower()
        if lower in _HEADERS:
            chosen.append((lower, value))
        elif lower == _SET_COOKIE:
            chosen.extend((lower, f"{line.partition('=')[0].strip()}=") for line in value.split("\n") if "=" in line)
    return tuple(chosen)


def output_of(read: ReadAnswer | Failed) -> dict[str, Any]:
    """What a test of the page compares: a failed page has no record."""
    failure = read if isinstance(read, Failed) else read.failure
    if failure is not None:
        failed = {"failure": f"{failure.code}:{failure.detail}" if failure.detail else failure.code.value}
        # The message of own code has the line and the error, which its author needs.
        return failed | ({"message": failure.message} if failure.detail == "parser" else {})
    assert isinstance(read, ReadAnswer)
    output: dict[str, Any] = {"record": read.record, "missing": list(read.missing)}
    if read.rows is not None:
        output = {"records": list(read.rows), "missing": list(read.missing)}
        output |= {} if read.links is None else {"links": list(read.links)}
    optional = {"details": read.details, "problems": read.problems, "dropped": read.dropped}
    return output | {name: value for name, value in optional.items() if value}


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs from the expected one; `expected` or `actual` is None if it is absent."""

    path: str
    expected: Any
    actual: Any

    def document(self) -> dict[str, Any]:
        return {"path": self.path, "expected": self.expected, "actual": self.actual}


def compare_outputs(expected: Any, actual: Any, path: str = "") -> list[Difference]:
    """Compare two outputs value by value, into objects and into lists of the same length."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return [
            difference
            for name in [*expected, *(name for name in actual if name not in expected)]
            for difference in compare_outputs(
                expected.get(name, _ABSENT), actual.get(name, _ABSENT), f"{path}.{name}" if path else str(name)
            )
        ]
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [
            difference
            for index, (before, after) in enumerate(zip(expected, actual, strict=True))
            for difference in compare_outputs(before, after, f"{path}[{index}]")
        ]
    if expected == actual and isinstance(expected, bool) == isinstance(actual, bool):
        return []
    return [Difference(path, None if expected is _ABSENT else expected, None if actual is _ABSENT else actual)]
