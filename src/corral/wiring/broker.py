"""A look at the broker, for those who load nothing else."""

from corral.domain.runs.node import BrokerNow
from corral.settings import Settings, Transport


async def look_at_broker(settings: Settings) -> BrokerNow | None:
    """None where messages play no part."""
    if settings.transport is not Transport.CELERY:
        return None
    from corral.transport.broker import Broker  # noqa: PLC0415 - only where it is used
    from corral.transport.celery import STEPS  # noqa: PLC0415
    from corral.wiring.redis import broker_url  # noqa: PLC0415

    broker = Broker(broker_url(settings), sorted(STEPS.values()))
    await broker.look()
    return BrokerNow(broker.depths, broker.problem)
