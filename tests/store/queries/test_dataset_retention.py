"""Dataset builds that are not run any more are deleted, unless unfinished work needs them."""

from typing import Any

import pytest

from corral.domain.datasets.image import FoundImage, NearPair
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import DATASET, RunAction
from corral.domain.workflows.new import NewWorkflow
from corral.domain.workflows.parse import parse_workflow
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store.builders import a_run, add
from tests.store.conftest import Sql
from tests.store.maintenance_helpers import DAY_MS

AFTER_A_WEEK = Retention(max_dataset_age_days=7)


async def add_build(store: Store, sql: Sql, build: str, name: str, days: int) -> None:
    await store.datasets.open_build(build, name, "run")
    await store.datasets.note_build(build, {"sources": {"a": {}}})
    found = [FoundImage(f"https://example.com/{number}.jpg", "cats") for number in range(5)]
    await store.datasets.add_images(build, found, None)
    await store.datasets.add_pairs(build, [NearPair(found[0].key, each.key, 1) for each in found[1:]], [])
    sql(f"UPDATE dataset_builds SET updated_at = updated_at - {days * DAY_MS} WHERE build = '{build}'")


async def prune(store: Store, retention: Retention = AFTER_A_WEEK, batch: int = 200) -> int:
    total = 0
    while pruned := await store.maintenance.prune(retention, batch):
        total += pruned
    return total


async def test_old_builds_are_deleted_in_batches_and_others_stay(store: Store, sql: Sql) -> None:
    await add_build(store, sql, "old", "pets", days=8)
    await add_build(store, sql, "new", "pets", days=6)
    assert await prune(store, Retention()) == 0, "the default keeps all"
    assert await store.maintenance.prune(AFTER_A_WEEK, 2) > 0
    assert await store.datasets.list_builds() == {"old", "new"}
    # What is continued in the middle of it begins with its sources, and keeps the rows that are left.
    assert sql("SELECT progress FROM dataset_builds WHERE build = 'old'")[0][0] in ("{}", {})
    assert await prune(store, batch=2) == 4, "three images and the build"
    assert await store.datasets.list_builds() == {"new"}
    assert await store.datasets.page_images("old", "", 10) == []
    assert await store.datasets.near_pairs("old", 64) == []
    assert len(await store.datasets.page_images("new", "", 10)) == 5
    assert len(await store.datasets.near_pairs("new", 64)) == 4


def a_dataset(name: str, *, as_step: bool = False) -> dict[str, Any]:
    config: dict[str, Any] = {
        "dataset_name": name,
        "categories": {"cats": []},
        "sources": [{"type": "urls", "urls": ["https://example.com/1.jpg"]}],
    }
    return {"dataset": config, "step": "discover"} if as_step else config


async def test_the_build_of_an_unfinished_run_stays(store: Store, sql: Sql) -> None:
    await add_build(store, sql, "b", "pets", days=100)
    await add_build(store, sql, "c", "cars", days=100)
    run_id = await add(store, a_run(kind=DATASET, payload={"config": a_dataset("pets")}))
    await prune(store)
    assert await store.datasets.list_builds() == {"b"}
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    await prune(store)
    assert await store.datasets.list_builds() == set()


@pytest.mark.parametrize("name", ["pets", "${steps.first.output.name}"])
async def test_the_build_of_a_step_that_has_not_begun_stays(store: Store, sql: Sql, name: str) -> None:
    await add_build(store, sql, "b", "pets", days=100)
    first = {"key": "first", "kind": "page", "config": {"url": "https://example.com/", "fields": ["name"]}}
    build = {"key": "build", "kind": "dataset", "depends_on": ["first"], "config": a_dataset(name, as_step=True)}
    spec = parse_workflow({"name": "two", "steps": [first, build]})
    workflow_id, _ = await store.workflows.add(NewWorkflow(new_id(), spec))
    assert await prune(store) == 0
    run_id = (await store.workflows.get(workflow_id)).run.id
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    await prune(store)
    assert await store.datasets.list_builds() == set()
