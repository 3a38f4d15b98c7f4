"""One line per event: JSON in a pipe, coloured on a terminal. Control characters are escaped in both."""

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

_MAX_FIELD = 8192


def _bounded(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    for key, value in event.items():
        if isinstance(value, str) and len(value) > _MAX_FIELD:
            event[key] = value[:_MAX_FIELD] + "…"
    return event


def configure_logging(level: str) -> None:
    number = logging.getLevelNamesMapping()[level.upper()]
    terminal = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _bounded,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
