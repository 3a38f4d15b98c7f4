"""Celery's consumer, which reconnects to a lost broker more often than Celery does."""

from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

# Celery waits 2 s longer after each try, up to 30 s: too long to notice that the broker is back.
_FIRST_S = 0.5
_STEP_S = 0.5
_MAX_S = 2.0


class NodeConsumer(Consumer):  # type: ignore[misc]  # publishes no types
    def ensure_connected(self, conn: Any) -> Any:
        conn.ensure_connection = partial(
            conn.ensure_connection, interval_start=_FIRST_S, interval_step=_STEP_S, interval_max=_MAX_S
        )
        return super().ensure_connected(conn)
