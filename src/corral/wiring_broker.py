"""Which broker stands beside the database, and how to ask it for its depth. Apart, for those who load nothing else."""

from corral.domain.worker import BrokerDepths, no_broker
from corral.settings import Settings


def broker_depths(settings: Settings) -> BrokerDepths:  # noqa: ARG001 - for the transport that has one
    return no_broker
