"""How pages can be filled without a browser: recorded by runs, edited and pinned by people."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.errors import RecipeNotFound
from corral.domain.ids import new_id
from corral.domain.job import Strategy
from corral.domain.recipe import Lesson, StoredRecipe
from corral.domain.site import fields_key
from corral.store.rows import at, from_json, to_json
from corral.store.tables import recipes, site_memory
from corral.store.tx import LAST_ID, Row, Tx, insert_params, param, values

_MAX_PER_PAGE = 200
_GET = sa.select(recipes).where(recipes.c.id == param("id"))
_OF_FIELDS = (
    sa.select(recipes)
    .where(recipes.c.host == param("host"), recipes.c.fields_key == param("fields_key"))
    .order_by(recipes.c.updated_at.desc())
    .limit(_MAX_PER_PAGE)
)
_LIST = sa.select(recipes).where(recipes.c.id < param("before")).order_by(recipes.c.id.desc()).limit(param("limit"))
_LIST_HOST = _LIST.where(recipes.c.host == param("host"))
_INSERT = insert(recipes).values(insert_params(recipes))
# The same again is nothing new, and what a person has pinned is not for a run to change.
_SAVE = _INSERT.on_conflict_do_update(
    index_elements=["host", "fields_key", "url_pattern"],
    set_={
        "document": _INSERT.excluded.document,
        "version": recipes.c.version + 1,
        "updated_at": _INSERT.excluded.updated_at,
    },
    where=sa.and_(recipes.c.pinned == 0, recipes.c.document != _INSERT.excluded.document),
).returning(recipes)
_UPDATE = sa.update(recipes).where(recipes.c.id == param("id"))
_PIN = _UPDATE.values(pinned=param("pinned"), updated_at=param("updated_at")).returning(recipes)
_EDIT = _UPDATE.values(
    document=param("document"),
    version=recipes.c.version + 1,
    pinned=param("pinned"),
    updated_at=param("updated_at"),
).returning(recipes)
_DELETE = sa.delete(recipes).where(recipes.c.id == param("id"))
# What the old recipe was worth says nothing about the new one.
_FORGET = sa.delete(site_memory).where(
    site_memory.c.host == param("host"),
    site_memory.c.fields_key == param("fields_key"),
    site_memory.c.strategy == Strategy.API_REPLAY.value,
)


def _stored(row: Row) -> StoredRecipe:
    id_, host, url_pattern, fields_key, document, pinned, version, created_at, updated_at = row
    return StoredRecipe(
        id_, host, url_pattern, fields_key, from_json(document), bool(pinned), version, at(created_at), at(updated_at)
    )


def save(tx: Tx, lesson: Lesson) -> StoredRecipe | None:
    """Keep what a run was taught; None where it is known already, or pinned otherwise by a person."""
    row_values = values(
        id=new_id(),
        host=lesson.host,
        url_pattern=lesson.url_pattern,
        fields_key=lesson.fields_key,
        document=to_json(lesson.document),
        pinned=0,
        version=1,
        created_at=tx.wall_ms,
        updated_at=tx.wall_ms,
    )
    [row] = tx.many_returning(_SAVE, [row_values])
    if row is None:
        return None
    tx.run(_FORGET, values(host=lesson.host, fields_key=lesson.memory_key))
    return _stored(row)


def change(tx: Tx, recipe_id: str, document: dict[str, Any] | None, *, pinned: bool) -> StoredRecipe:
    """What a person wrote, or only that it is to stay as it is."""
    before = get(tx, recipe_id)
    given = values(id=recipe_id, pinned=int(pinned), updated_at=tx.wall_ms)
    if document is None:
        [row] = tx.many_returning(_PIN, [given])
    else:
        [row] = tx.many_returning(_EDIT, [{**given, **values(document=to_json(document))}])
    if row is None:
        raise RecipeNotFound(recipe_id)
    stored = _stored(row)
    if document is not None:
        # The memory of the site knows fields by their names alone, whatever the selectors of a job.
        for key in {stored.fields_key, fields_key(before.document["fields"]), fields_key(document["fields"])}:
            tx.run(_FORGET, values(host=stored.host, fields_key=key))
    return stored


def get(tx: Tx, recipe_id: str) -> StoredRecipe:
    rows = tx.all(_GET, values(id=recipe_id))
    if not rows:
        raise RecipeNotFound(recipe_id)
    return _stored(rows[0])


def of_fields(tx: Tx, host: str, fields_key: str) -> list[StoredRecipe]:
    return [_stored(row) for row in tx.all(_OF_FIELDS, values(host=host, fields_key=fields_key))]


def newest(tx: Tx, host: str | None, before: str | None, limit: int) -> list[StoredRecipe]:
    given = values(before=before or LAST_ID, limit=limit)
    if host is None:
        return [_stored(row) for row in tx.all(_LIST, given)]
    return [_stored(row) for row in tx.all(_LIST_HOST, {**given, **values(host=host)})]


def delete(tx: Tx, recipe_id: str) -> None:
    if tx.run(_DELETE, values(id=recipe_id)) == 0:
        raise RecipeNotFound(recipe_id)
