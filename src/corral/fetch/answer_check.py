"""Classify an answer as a failure, by its status or by its content. Shared by all executors."""

from dataclasses import replace
from typing import Any

from corral.domain.runs.outcome import AttemptOutcome, Failed, FailureCode, Fetched
from corral.extract.classify import page_classifier
from corral.extract.classify.page_classifier import ClassifierInput
from corral.extract.page_reader import ReadAnswer


def failure_behind(page: ClassifierInput, missing: tuple[str, ...], stats: dict[str, Any]) -> Failed | None:
    """Classify an answer; None if it is the requested content. The evidence goes into the statistics."""
    return _add_verdict(*page_classifier.failure_behind(page, missing), stats)


def failure_read(answer: ReadAnswer, stats: dict[str, Any]) -> Failed | None:
    """Return the failure that the reader found."""
    return _add_verdict(answer.failure, answer.verdict, stats)


def is_of_code(failure: Failed | None) -> bool:
    return failure is not None and (failure.code, failure.detail) == (FailureCode.EXTRACTION, "parser")


def outcome_of_read(answer: ReadAnswer, stats: dict[str, Any], raw: dict[str, Any] | None = None) -> AttemptOutcome:
    """Build the outcome of a one-page run whose reader found no failure."""
    if answer.links:
        message = "parse returned links, and this run reads one page; use crawl_mode list or crawl, or `corral crawl`"
        return Failed(FailureCode.EXTRACTION, message, "parser", stats=stats)
    return Fetched(stats, answer.records, answer.missing, details=answer.records_details, raw=raw)


def _add_verdict(failure: Failed | None, verdict: dict[str, Any] | None, stats: dict[str, Any]) -> Failed | None:
    if verdict is not None:
        stats["verdict"] = verdict
    return replace(failure, stats={**failure.stats, **stats}) if failure is not None else None
