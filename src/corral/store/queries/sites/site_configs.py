"""Configurations of sites that were written over HTTP."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.errors import SiteConfigChanged
from corral.store.rows import at, from_json, to_json
from corral.store.site_tables import site_configs
from corral.store.tx import Tx, first, insert_params, param, values

_ALL = sa.select(site_configs).order_by(site_configs.c.site)
_GET = sa.select(site_configs).where(site_configs.c.site == param("site"))
_LOCK = _GET.with_for_update()
_INSERT = insert(site_configs).values(insert_params(site_configs))
_PUT = _INSERT.on_conflict_do_update(
    index_elements=["site"], set_={name: _INSERT.excluded[name] for name in ("document", "updated_at")}
)
_DELETE = sa.delete(site_configs).where(site_configs.c.site == param("site"))


class StoredSiteConfig(NamedTuple):
    site: str
    document: dict[str, Any]
    updated_at: datetime

    @property
    def version(self) -> str:
        """Return a hash of the document."""
        return hashlib.blake2b(to_json(self.document).encode(), digest_size=8).hexdigest()


def list_all(tx: Tx) -> list[StoredSiteConfig]:
    return [StoredSiteConfig(site, from_json(document), at(moment)) for site, document, moment in tx.all(_ALL)]


def get(tx: Tx, site: str) -> StoredSiteConfig | None:
    row = first(tx.all(_GET, values(site=site)))
    return None if row is None else StoredSiteConfig(row[0], from_json(row[1]), at(row[2]))


def put(tx: Tx, site: str, document: Mapping[str, Any], version: str | None = None) -> None:
    """Write a configuration. With a version, SiteConfigChanged if the stored one is another, or there is none."""
    if version is not None:
        row = first(tx.all(_LOCK, values(site=site)))
        if row is None or StoredSiteConfig(row[0], from_json(row[1]), at(row[2])).version != version:
            raise SiteConfigChanged(site)
    tx.run(_PUT, values(site=site, document=to_json(dict(document)), updated_at=tx.wall_ms))


def delete(tx: Tx, site: str) -> bool:
    return tx.run(_DELETE, values(site=site)) == 1
