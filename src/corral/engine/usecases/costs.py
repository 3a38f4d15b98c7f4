"""The costs of runs, jobs and sites, and the cost per record."""

from typing import Any

from corral.domain.cost.spent import NOTHING, Prices, Spent, describe_cost, run_spent
from corral.domain.crawl.site_statistics import SiteStatistics
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.run import CRAWL, Run, RunState

_PAGE = 200
_MAX_RUNS = 20_000


class Costs:
    def __init__(self, store: EngineStore, prices: Prices) -> None:
        self._store = store
        self._prices = prices

    async def of_run(self, run_id: str) -> dict[str, Any]:
        run = await self._store.runs.get(run_id)
        return {"run_id": run.id, **describe_cost(*self._count(run), count_records(run))}

    async def of_job(self, job_id: str) -> dict[str, Any]:
        """Return the sum over the job's stored runs."""
        await self._store.jobs.get(job_id)
        total, cost, records, count = NOTHING, 0.0, 0, 0
        before: str | None = None
        while count < _MAX_RUNS and (runs := await self._store.runs.newest(job_id, None, before, _PAGE)):
            for run in runs:
                spent, prices = self._count(run)
                total, cost = total.plus(spent), cost + prices.cost_of(spent)
                records += count_records(run)
            count, before = count + len(runs), runs[-1].id
        document = describe_cost(total, Prices(), records)
        document["cost"] = round(cost, 9)
        if document["per_record"]:
            document["per_record"]["cost"] = round(cost / records, 9)
        return {"job_id": job_id, "runs": count, **document}

    def of_site(self, statistics: SiteStatistics) -> dict[str, Any]:
        """Return the cost of the pages that crawls fetched from a host."""
        return {"host": statistics.host, **describe_cost(statistics.spent, self._prices, statistics.done)}

    def _count(self, run: Run) -> tuple[Spent, Prices]:
        return run_spent(run.attempts), self._prices.for_policy(run.payload.read(CommonPayload).proxy)


def count_records(run: Run) -> int:
    """Return how many records a run reported."""
    if run.kind == CRAWL:
        return int(run.stats.get("done") or 0)
    return int(run.state in (RunState.COMPLETED, RunState.PARTIAL))
