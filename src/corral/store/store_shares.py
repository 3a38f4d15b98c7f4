"""The part of the store that those who work on a crawl speak to."""

from corral.domain.crawl.crawl import Bounds
from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.ids import Owner
from corral.domain.runs.run import Lease
from corral.store.queries.crawl import frontier, helper_claims
from corral.store.store_leases import LeaseMethods


class StepMethods(LeaseMethods):
    async def crawl_step(self, lease: Lease, report: BatchReport, bounds: Bounds) -> Batch | None:
        return await self._unless_moved(lambda tx: frontier.step(tx, lease, report, bounds), None)

    async def claim_helpers(self, owner: Owner, limit: int, lease_s: float, crawl: str | None = None) -> list[Lease]:
        found: list[Lease] = await self._db.write(lambda tx: helper_claims.claim(tx, owner, limit, lease_s, crawl))
        return found
