"""Logging: one line per event, as JSON in a pipe, coloured on a terminal. Control characters are escaped in both."""

import logging
import sys
from collections.abc import Iterable
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from corral.domain.redaction import redact_nested
from corral.domain.secret import without

_MAX_FIELD = 8192
_hidden: set[str] = set()


def hide(secrets: Iterable[str]) -> None:
    """Hide these values in every log line of this process."""
    _hidden.update(secrets)


def _redact(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {key: _redact_value(value) for key, value in event.items()}


def _redact_value(value: Any) -> Any:
    return without(redact_nested(value), tuple(_hidden))


class _Masking(logging.Formatter):
    """Redacts log lines of libraries."""

    def format(self, record: logging.LogRecord) -> str:
        return str(_redact_value(super().format(record)))


def _limit_lengths(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    for key, value in event.items():
        if isinstance(value, str) and len(value) > _MAX_FIELD:
            event[key] = value[:_MAX_FIELD] + "…"
    return event


def ready_logger() -> Any:
    """Return a logger for code that logs rarely and may do so before its process has configured logging.

    Without a configuration structlog would write to standard output, which belongs to the records of a command.
    """
    if not structlog.is_configured():
        configure_logging("warning")
    return structlog.get_logger()


def configure_logging(level: str) -> None:
    number = logging.getLevelNamesMapping()[level.upper()]
    terminal = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _redact,
            _limit_lengths,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Masking(logging.BASIC_FORMAT))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
