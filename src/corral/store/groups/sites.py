"""Site memory, site statistics and recipes."""

from collections.abc import Sequence
from typing import Any

from corral.domain.crawl.site_statistics import SiteStatistics
from corral.domain.sites.recipe.recipe import RecordedRecipe, StoredRecipe
from corral.domain.sites.site import KnownSite, Memory, Observation
from corral.store.database import Database
from corral.store.queries.sites import recipes, site_statistics, sites


class SqlSiteStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def memories(self, host: str) -> list[Memory]:
        return await self._db.read(lambda tx: sites.of_host(tx, host))

    async def list_known(self, limit: int) -> list[KnownSite]:
        return await self._db.read_slow(lambda tx: sites.list_known(tx, limit))

    async def learn(self, observations: Sequence[Observation]) -> None:
        await self._db.write(lambda tx: sites.learn(tx, observations))

    async def statistics(self, host: str) -> SiteStatistics | None:
        return await self._db.read(lambda tx: site_statistics.of_host(tx, host))

    async def latest_statistics(self, limit: int) -> list[SiteStatistics]:
        return await self._db.read_slow(lambda tx: site_statistics.latest(tx, limit))


class SqlRecipeStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, recipe_id: str) -> StoredRecipe:
        return await self._db.read(lambda tx: recipes.get(tx, recipe_id))

    async def for_fields(self, host: str, fields_key: str) -> list[StoredRecipe]:
        return await self._db.read(lambda tx: recipes.of_fields(tx, host, fields_key))

    async def newest(self, host: str | None, before: str | None, limit: int) -> list[StoredRecipe]:
        return await self._db.read(lambda tx: recipes.newest(tx, host, before, limit))

    async def save(self, recorded: RecordedRecipe) -> StoredRecipe | None:
        return await self._db.write(lambda tx: recipes.save(tx, recorded))

    async def mark_failed(self, recipe_id: str, version: int) -> None:
        await self._db.write(lambda tx: recipes.mark_failed(tx, recipe_id, version))

    async def change(self, recipe_id: str, document: dict[str, Any] | None, *, pinned: bool) -> StoredRecipe:
        return await self._db.write(lambda tx: recipes.change(tx, recipe_id, document, pinned=pinned))

    async def delete(self, recipe_id: str) -> None:
        await self._db.write(lambda tx: recipes.delete(tx, recipe_id))
