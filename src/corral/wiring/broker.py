"""Read the state of the broker without loading the application."""

from corral.domain.runs.node import BrokerNow
from corral.settings import Settings, Transport


async def read_broker_state(settings: Settings) -> BrokerNow | None:
    """Return the state of the broker, or None if the transport uses no messages."""
    if settings.transport is not Transport.CELERY:
        return None
    from corral.transport.broker import Broker  # noqa: PLC0415 - only where it is used
    from corral.transport.celery import STEPS  # noqa: PLC0415
    from corral.wiring.redis import broker_url  # noqa: PLC0415

    broker = Broker(broker_url(settings), sorted(STEPS.values()))
    await broker.poll()
    return BrokerNow(broker.depths, broker.problem)
