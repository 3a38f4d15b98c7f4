"""How soon a broker that went away is heard again."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from corral.celery_app.consumer import NodeConsumer
from tests.services.ports import free_port


def test_a_lost_broker_is_looked_for_every_few_moments(caplog: pytest.LogCaptureFixture) -> None:
    """Celery alone would wait for 2, 4, 6 and 8 s, and for half a minute in the end."""
    consumer: Any = object.__new__(NodeConsumer)
    consumer.first_connection_attempt = True
    consumer.broker_connection_retry_attempt = 0
    conf = SimpleNamespace(broker_connection_retry_on_startup=True, broker_connection_max_retries=4)
    consumer.app = SimpleNamespace(conf=conf)
    nobody = Connection(f"redis://127.0.0.1:{free_port()}/0")  # type: ignore[no-untyped-call]
    with nobody, pytest.raises(OperationalError):
        consumer.ensure_connected(nobody)
    waits = [float(seconds) for seconds in re.findall(r"Trying again in ([\d.]+) second", caplog.text)]
    assert waits == [1.0, 1.5, 2.0], "and the first one after half a second, said in other words"
