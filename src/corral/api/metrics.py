"""Prometheus metrics of this process."""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from corral.api.metrics_fleet import FleetMetrics
from corral.domain.errors import StorageError
from corral.wiring.app import App


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "corral_http_requests", "HTTP requests answered", ["method", "status"], registry=self._registry
        )
        self._runs = Gauge("corral_runs", "Runs that have not ended, by state", ["state"], registry=self._registry)
        self._settled = Gauge(
            "corral_settled_total", "Attempts settled by this node", ["state", "failure_code"], registry=self._registry
        )
        self._executing = Gauge("corral_executing", "Runs being executed by this node", registry=self._registry)
        self._processes = Gauge("corral_worker_processes", "Worker processes of this node", registry=self._registry)
        self._fleet = FleetMetrics(self._registry)
        self._database_up = Gauge("corral_database_up", "1 where the database answers", registry=self._registry)

    def count(self, method: str, status: int) -> None:
        label = method if method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS") else "other"
        self._requests.labels(label, str(status)).inc()

    async def render(self, app: App) -> bytes:
        try:
            for state, number in (await app.store.runs.count_live()).items():
                self._runs.labels(state).set(number)
            await self._fleet.update(app)
            self._database_up.set(1)
        except StorageError:
            self._database_up.set(0)
        if app.node is not None:
            self._executing.set(app.node.executing)
            self._processes.set(app.node.worker_count)
            for (state, code), number in app.node.settled.items():
                self._settled.labels(state, code).set(number)
        return generate_latest(self._registry)
