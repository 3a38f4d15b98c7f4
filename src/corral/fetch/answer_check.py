"""What is wrong with an answer: by its status, or because it only looks like content. The same for every executor."""

from dataclasses import replace
from typing import Any

from corral.domain.runs.outcome import Failed
from corral.extract.classify import page_classifier
from corral.extract.classify.page_classifier import ClassifierInput
from corral.extract.page_reader import ReadAnswer


def failure_behind(page: ClassifierInput, missing: tuple[str, ...], stats: dict[str, Any]) -> Failed | None:
    """None for an answer that is what was asked for. What gave another one away goes into the statistics."""
    return _add_verdict(*page_classifier.failure_behind(page, missing), stats)


def failure_read(answer: ReadAnswer, stats: dict[str, Any]) -> Failed | None:
    """The same, of a page that was judged where it was read."""
    return _add_verdict(answer.failure, answer.verdict, stats)


def _add_verdict(failure: Failed | None, verdict: dict[str, Any] | None, stats: dict[str, Any]) -> Failed | None:
    if verdict is not None:
        stats["verdict"] = verdict
    return replace(failure, stats=dict(stats)) if failure is not None else None
