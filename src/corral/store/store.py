"""The store as the rest of Corral sees it: asynchronous, grouped by subject, one transaction per method."""

from corral.store.database import Database
from corral.store.groups.campaigns import SqlAlertStore, SqlCampaignStore
from corral.store.groups.coverage import SqlCoverageStore, SqlLoopStore
from corral.store.groups.crawls import SqlCrawlStore
from corral.store.groups.datasets import SqlDatasetStore
from corral.store.groups.hosts import SqlHostStore
from corral.store.groups.jobs import SqlIdempotencyStore, SqlJobStore
from corral.store.groups.maintenance import SqlMaintenance
from corral.store.groups.nodes import SqlNodeStore
from corral.store.groups.proxies import SqlProxyStore
from corral.store.groups.queue import SqlQueueStore
from corral.store.groups.records import SqlArtifactStore, SqlEventStore, SqlPageStore, SqlRecordStore
from corral.store.groups.runs import SqlRunStore
from corral.store.groups.sessions import SqlInterventionStore, SqlSessionStore
from corral.store.groups.site_configs import SqlSiteConfigStore
from corral.store.groups.sites import SqlRecipeStore, SqlSiteStore
from corral.store.groups.workflows import SqlWorkflowStore
from corral.store.tx import Tx


class Store:
    def __init__(self, database: Database) -> None:
        self._db = database
        self.jobs = SqlJobStore(database)
        self.idempotency = SqlIdempotencyStore(database)
        self.runs = SqlRunStore(database)
        self.crawls = SqlCrawlStore(database)
        self.hosts = SqlHostStore(database)
        self.sites = SqlSiteStore(database)
        self.site_configs = SqlSiteConfigStore(database)
        self.campaigns = SqlCampaignStore(database)
        self.alerts = SqlAlertStore(database)
        self.recipes = SqlRecipeStore(database)
        self.sessions = SqlSessionStore(database)
        self.interventions = SqlInterventionStore(database)
        self.nodes = SqlNodeStore(database)
        self.queue = SqlQueueStore(database)
        self.events = SqlEventStore(database)
        self.records = SqlRecordStore(database)
        self.pages = SqlPageStore(database)
        self.artifacts = SqlArtifactStore(database)
        self.maintenance = SqlMaintenance(database)
        self.coverage = SqlCoverageStore(database)
        self.loop = SqlLoopStore(database)
        self.workflows = SqlWorkflowStore(database)
        self.proxies = SqlProxyStore(database)
        self.datasets = SqlDatasetStore(database)

    async def ping(self) -> None:
        """Prove that a write would succeed."""
        await self._db.write(_do_nothing)

    async def close(self) -> None:
        await self._db.close()


def _do_nothing(_: Tx) -> None:
    return None
