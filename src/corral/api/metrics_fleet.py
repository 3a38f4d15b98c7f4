"""Prometheus metrics of all nodes and of the queues."""

from prometheus_client import CollectorRegistry, Gauge

from corral.domain.runs.node import NodeState, QueueNow
from corral.wiring.app import App

_MAX_NODES = 1000


class FleetMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, help_text: str, *labels: str) -> Gauge:
            return Gauge(name, help_text, labels, registry=registry)

        self._nodes = gauge("corral_workers", "Nodes on record, by state", "state")
        self._due = gauge("corral_queue_depth", "Runs that are due", "queue", "priority")
        self._later = gauge("corral_queue_later", "Runs queued for later", "queue", "priority")
        self._held = gauge("corral_queue_held", "Runs held, or waiting for their host", "queue", "priority")
        self._running = gauge("corral_queue_running", "Runs being executed", "queue")
        self._oldest = gauge(
            "corral_queue_oldest_seconds", "How long the oldest due run has waited; 0 for none", "queue"
        )
        self._messages = gauge("corral_broker_messages", "Messages in the broker, where there is one", "queue")

    async def update(self, app: App) -> None:
        states = [node.state for node in await app.store.nodes.list_all(limit=_MAX_NODES)]
        for state in NodeState:
            self._nodes.labels(state.value).set(states.count(state))
        for queue in await app.store.runs.count_queues():
            self._set_queue(queue)
        broker = app.broker_now
        for name, number in (broker.messages or {} if broker else {}).items():
            self._messages.labels(name.value).set(number)

    def _set_queue(self, queue: QueueNow) -> None:
        name = queue.name.value
        for band in queue.bands:
            labels = (name, band.priority.name.lower())
            self._due.labels(*labels).set(band.due)
            self._later.labels(*labels).set(band.later)
            self._held.labels(*labels).set(band.held)
        self._running.labels(name).set(queue.running)
        self._oldest.labels(name).set(queue.oldest_s or 0)
