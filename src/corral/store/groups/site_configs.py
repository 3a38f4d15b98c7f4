"""Configurations of sites."""

from collections.abc import Mapping
from typing import Any

from corral.store.database import Database
from corral.store.queries.sites import site_configs
from corral.store.queries.sites.site_configs import StoredSiteConfig


class SqlSiteConfigStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def documents(self) -> dict[str, dict[str, Any]]:
        """Return every stored configuration by its site."""
        found = await self._db.read(site_configs.list_all)
        return {each.site: each.document for each in found}

    async def get(self, site: str) -> StoredSiteConfig | None:
        return await self._db.read(lambda tx: site_configs.get(tx, site))

    async def put(self, site: str, document: Mapping[str, Any], version: str | None = None) -> None:
        """Write a configuration; with a version, only over that one."""
        await self._db.write(lambda tx: site_configs.put(tx, site, document, version))

    async def delete(self, site: str) -> bool:
        return await self._db.write(lambda tx: site_configs.delete(tx, site))
