"""Recipes for extracting data without a browser: recorded by runs, edited and pinned by people."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.errors import RecipeNotFound
from corral.domain.jobs.job import Strategy
from corral.domain.sites.recipe.recipe import RecordedRecipe, StoredRecipe
from corral.domain.sites.recipe.shape import shape_of
from corral.domain.sites.site import fields_key
from corral.runtime.new_ids import new_id
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
# An equal recipe is not saved again, and a run does not change a recipe that a person pinned.
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
# The record of the old recipe does not apply to the new one.
_FORGET = sa.delete(site_memory).where(
    site_memory.c.host == param("host"),
    site_memory.c.fields_key == param("fields_key"),
    site_memory.c.strategy == Strategy.API_REPLAY.value,
)


_SAME_PAGES = sa.select(recipes).where(
    recipes.c.host == param("host"),
    recipes.c.fields_key == param("fields_key"),
    recipes.c.url_pattern == param("url_pattern"),
)
_MARK = _UPDATE.where(recipes.c.version == param("version")).values(document=param("document"))
# Stored beside the document, which people see and edit.
_FAILED = "failed_shape"


def _to_recipe(row: Row) -> StoredRecipe:
    id_, host, url_pattern, fields_key, cell, pinned, version, created_at, updated_at = row
    document = from_json(cell)
    failed_shape = document.pop(_FAILED, None)
    times = (at(created_at), at(updated_at))
    return StoredRecipe(id_, host, url_pattern, fields_key, document, bool(pinned), version, *times, failed_shape)


def _cell(document: dict[str, Any], failed_shape: str | None) -> str:
    return to_json(document if failed_shape is None else {**document, _FAILED: failed_shape})


def save(tx: Tx, recorded: RecordedRecipe) -> StoredRecipe | None:
    """Save a recorded recipe; None if it is already known or a person pinned another one.

    A recording of the same shape is not a new recipe, even if its calls send other values: the knowledge about the old
    one, above all that it failed, applies to it too.
    """
    known = [_to_recipe(row) for row in tx.all(_SAME_PAGES, _page_of(recorded))]
    before = known[0] if known else None
    if before is not None and before.document == recorded.document:
        return None
    shape = shape_of(recorded.document)
    is_same_shape = before is not None and shape_of(before.document) == shape
    has_failed = before is not None and before.failed_shape == shape
    row_values = values(
        id=new_id(),
        host=recorded.host,
        url_pattern=recorded.url_pattern,
        fields_key=recorded.fields_key,
        document=_cell(recorded.document, shape if has_failed else None),
        pinned=0,
        version=1,
        created_at=tx.wall_ms,
        updated_at=tx.wall_ms,
    )
    [row] = tx.many_returning(_SAVE, [row_values])
    if row is None:
        return None
    if not is_same_shape:
        tx.run(_FORGET, values(host=recorded.host, fields_key=recorded.memory_key))
    return None if has_failed else _to_recipe(row)


def _page_of(recorded: RecordedRecipe) -> dict[str, Any]:
    return values(host=recorded.host, fields_key=recorded.fields_key, url_pattern=recorded.url_pattern)


def mark_failed(tx: Tx, recipe_id: str, version: int) -> None:
    """Record that replaying this version failed: it is not offered again until its shape changes."""
    for row in tx.all(_GET, values(id=recipe_id)):
        stored = _to_recipe(row)
        document = _cell(stored.document, shape_of(stored.document))
        tx.run(_MARK, values(id=recipe_id, version=version, document=document))


def change(tx: Tx, recipe_id: str, document: dict[str, Any] | None, *, pinned: bool) -> StoredRecipe:
    """Write the document of a person, or only pin or unpin the recipe."""
    before = get(tx, recipe_id)
    params = values(id=recipe_id, pinned=int(pinned), updated_at=tx.wall_ms)
    if document is None:
        [row] = tx.many_returning(_PIN, [params])
    else:
        [row] = tx.many_returning(_EDIT, [{**params, **values(document=to_json(document))}])
    if row is None:
        raise RecipeNotFound(recipe_id)
    stored = _to_recipe(row)
    if document is not None:
        # Site memory identifies fields by name only, not by the selectors of a job.
        for key in {stored.fields_key, fields_key(before.document["fields"]), fields_key(document["fields"])}:
            tx.run(_FORGET, values(host=stored.host, fields_key=key))
    return stored


def get(tx: Tx, recipe_id: str) -> StoredRecipe:
    rows = tx.all(_GET, values(id=recipe_id))
    if not rows:
        raise RecipeNotFound(recipe_id)
    return _to_recipe(rows[0])


def of_fields(tx: Tx, host: str, fields_key: str) -> list[StoredRecipe]:
    return [_to_recipe(row) for row in tx.all(_OF_FIELDS, values(host=host, fields_key=fields_key))]


def newest(tx: Tx, host: str | None, before: str | None, limit: int) -> list[StoredRecipe]:
    params = values(before=before or LAST_ID, limit=limit)
    if host is None:
        return [_to_recipe(row) for row in tx.all(_LIST, params)]
    return [_to_recipe(row) for row in tx.all(_LIST_HOST, {**params, **values(host=host)})]


def delete(tx: Tx, recipe_id: str) -> None:
    if tx.run(_DELETE, values(id=recipe_id)) == 0:
        raise RecipeNotFound(recipe_id)
