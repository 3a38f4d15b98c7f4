"""What is wrong with an answer: by its status, or because it only looks like content. The same for every executor."""

from dataclasses import replace
from typing import Any

from corral.domain.outcome import Failed
from corral.extract import verdict
from corral.extract.reading import ReadAnswer
from corral.extract.verdict import Answer


def failure_behind(page: Answer, missing: tuple[str, ...], stats: dict[str, Any]) -> Failed | None:
    """None for an answer that is what was asked for. What gave another one away goes into the statistics."""
    return _noted(*verdict.failure_behind(page, missing), stats)


def failure_read(answer: ReadAnswer, stats: dict[str, Any]) -> Failed | None:
    """The same, of a page that was judged where it was read."""
    return _noted(answer.failure, answer.verdict, stats)


def _noted(failure: Failed | None, seen: dict[str, Any] | None, stats: dict[str, Any]) -> Failed | None:
    if seen is not None:
        stats["verdict"] = seen
    return replace(failure, stats=dict(stats)) if failure is not None else None
