"""Whoever gives hints goes on doing so, whatever becomes of the broker."""

import time

import redis

from corral.domain.jobs.job import Priority
from corral.domain.runs.queues import Hint, Lane, Queue
from corral.transport.celery import CeleryHints, make_celery
from tests.services import redis_server
from tests.slack import SLACK

HINT = Hint("0198f000-0000-7000-8000-000000000001", Queue.HTTP, Lane.LIGHT, Priority.CRITICAL)


def test_hints_are_given_again_once_the_broker_is_back() -> None:
    """Each time: what was closed with the first broker must not be missing with the second."""
    with redis_server() as broker:
        hints = CeleryHints(make_celery(broker.url(1)))
        try:
            _until_told(hints, broker.url(1))
            for _ in range(2):
                broker.kill()
                hints.send([HINT])
                time.sleep(1.5)  # it tries, and tries anew
                broker.start()
                _until_told(hints, broker.url(1))
        finally:
            hints.close()


def _until_told(hints: CeleryHints, url: str) -> None:
    deadline = time.monotonic() + 10 * SLACK
    with redis.from_url(url) as client:
        client.delete(Queue.HTTP.value)
        while not client.llen(Queue.HTTP.value):
            assert time.monotonic() < deadline, "nothing is told any more"
            hints.send([HINT])
            time.sleep(0.2)
