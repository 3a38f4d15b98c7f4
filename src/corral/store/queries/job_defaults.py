"""The defaults of new jobs, as one document beside the installation's other settings."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.jobs.defaults import JobDefaults
from corral.store.rows import from_json, to_json
from corral.store.tables import meta
from corral.store.tx import Tx, first, param, values

_KEY = "job_defaults"
_READ = sa.select(meta.c.value).where(meta.c.key == param("key"))
_WRITE = (
    insert(meta)
    .values(key=param("key"), value=param("value"))
    .on_conflict_do_update(index_elements=["key"], set_={"value": param("value")})
)


def read(tx: Tx) -> JobDefaults:
    row = first(tx.all(_READ, values(key=_KEY)))
    return JobDefaults() if row is None else JobDefaults.of(from_json(row[0]))


def change(tx: Tx, changes: Mapping[str, Any]) -> JobDefaults:
    """Change some defaults; the others stay unchanged."""
    changed = JobDefaults.of({**read(tx).document(), **changes})
    tx.run(_WRITE, values(key=_KEY, value=to_json(changed.document())))
    return changed
