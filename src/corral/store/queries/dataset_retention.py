"""Delete the rows of dataset builds that have not been run for long, in small batches.

A build that is continued while its rows are being deleted reads its sources again: its progress is deleted first. The
remaining rows stay valid, because pack files are removed last.
"""

import sqlalchemy as sa

from corral.domain.runs.run import DATASET, LIVE
from corral.domain.workflows.dataset_names import NamesInUse
from corral.store.dataset_tables import dataset_builds, dataset_images, dataset_pairs
from corral.store.queries.workflows import rows as workflow_rows
from corral.store.rows import from_json
from corral.store.tables import runs
from corral.store.tx import Tx, param, values
from corral.store.workflow_tables import workflows

_UNFINISHED = runs.c.state.in_([state.value for state in sorted(LIVE)])
_OLD = (
    sa.select(dataset_builds.c.build, dataset_builds.c.name)
    .where(dataset_builds.c.updated_at < param("before"))
    .order_by(dataset_builds.c.updated_at, dataset_builds.c.build)
)
_RUNS = sa.select(runs.c.payload).where(_UNFINISHED, runs.c.kind == DATASET)
_WORKFLOWS = sa.select(workflows).select_from(workflows.join(runs, runs.c.id == workflows.c.run_id)).where(_UNFINISHED)
_FORGET_PROGRESS = sa.update(dataset_builds).values(progress="{}").where(dataset_builds.c.build == param("build"))
_SOME_IMAGES = sa.delete(dataset_images).where(
    dataset_images.c.build == param("build"),
    dataset_images.c.key.in_(
        sa.select(dataset_images.c.key).where(dataset_images.c.build == param("build")).limit(param("limit"))
    ),
)
_SOME_PAIRS = sa.delete(dataset_pairs).where(
    dataset_pairs.c.build == param("build"),
    dataset_pairs.c.first.in_(
        sa.select(dataset_pairs.c.first).where(dataset_pairs.c.build == param("build")).limit(param("limit"))
    ),
)
_DELETE = sa.delete(dataset_builds).where(dataset_builds.c.build == param("build"))
_NAMES = sa.select(dataset_builds.c.build)


def prune(tx: Tx, before_ms: int, batch: int) -> int:
    """Delete rows of one build that was run last before that time; return how many. Repeat until nothing is left."""
    old = tx.all(_OLD, values(before=before_ms))
    if not old:
        return 0
    in_use = _list_names_in_use(tx)
    build = next((build for build, name in old if name not in in_use), None)
    if build is None:
        return 0
    tx.run(_FORGET_PROGRESS, values(build=build))
    removed = tx.run(_SOME_PAIRS, values(build=build, limit=batch))
    removed += tx.run(_SOME_IMAGES, values(build=build, limit=batch))
    return removed or tx.run(_DELETE, values(build=build))


def list_builds(tx: Tx) -> set[str]:
    return {row[0] for row in tx.all(_NAMES)}


def _list_names_in_use(tx: Tx) -> NamesInUse:
    names = NamesInUse()
    for (payload,) in tx.all(_RUNS):
        names.add_config(from_json(payload).get("config"))
    for row in tx.all(_WORKFLOWS):
        spec = workflow_rows.spec_of(tx, workflow_rows.workflow_of(row))
        names.add_steps((step.kind, step.config) for step in spec.steps)
    return names
