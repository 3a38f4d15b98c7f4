import pytest

from corral.domain.errors import ArtifactNotFound
from corral.domain.runs.artifact import Artifact, ArtifactKind
from corral.domain.runs.retention import Retention
from corral.store.store import Store
from tests.store.builders import ME, claim_new, complete, fail, retry, settle
from tests.store.queries.artifacts_helpers import leave
from tests.store.queries.sites.sessions_helpers import hold_for_login

SHOT = Artifact("a" * 32, ArtifactKind.SCREENSHOT, 1000)
HTML = Artifact("b" * 32, ArtifactKind.HTML, 200)


async def test_what_an_attempt_left_is_named_with_its_settlement(store: Store) -> None:
    lease = await claim_new(store)
    assert await settle(store, leave(retry(lease), HTML, SHOT))
    [again] = await store.runs.claim_one(lease.run_id, ME, 10)
    later = Artifact("c" * 32, ArtifactKind.HTML, 5)
    assert await settle(store, leave(fail(again), later))
    kept = await store.artifacts.of_run(lease.run_id)
    assert [(each.attempt, each.artifact) for each in kept] == [(1, SHOT), (1, HTML), (2, later)]
    assert await store.artifacts.get(lease.run_id, SHOT.id) == kept[0]
    assert await store.artifacts.list_ids() == {SHOT.id, HTML.id, later.id}
    await store.artifacts.forget([SHOT.id, later.id])
    assert await store.artifacts.list_ids() == {HTML.id}


async def test_an_artifact_is_found_only_under_its_own_run(store: Store) -> None:
    lease, other = await claim_new(store), await claim_new(store)
    await settle(store, leave(fail(lease), SHOT))
    for run_id, artifact_id in ((other.run_id, SHOT.id), (lease.run_id, HTML.id), (lease.run_id, "../../etc/passwd")):
        with pytest.raises(ArtifactNotFound):
            await store.artifacts.get(run_id, artifact_id)
    assert await store.artifacts.of_run(other.run_id) == []


async def test_what_a_lost_lease_left_is_named_by_nobody(store: Store) -> None:
    old = await claim_new(store, lease_s=-1)
    await store.runs.reap()
    assert not await settle(store, leave(complete(old), SHOT))
    assert await store.artifacts.list_ids() == frozenset()


async def test_artifacts_are_forgotten_with_their_run_whether_or_not_its_records_are(store: Store) -> None:
    lease = await claim_new(store)
    await settle(store, leave(fail(lease), SHOT, HTML))
    assert await store.maintenance.prune(Retention(max_finished_runs=0, keep_records=True)) == 1
    assert await store.artifacts.list_ids() == frozenset()


async def test_an_intervention_shows_the_screenshot_of_its_attempt_while_it_is_kept(store: Store) -> None:
    lease = await claim_new(store)
    assert await settle(store, leave(hold_for_login(lease), HTML, SHOT))
    [opened] = await store.interventions.newest(None, None, 10)
    assert opened.screenshot == SHOT.id
    assert await store.interventions.get(opened.id) == opened
    await store.artifacts.forget([SHOT.id])
    assert (await store.interventions.get(opened.id)).screenshot is None
    closed, _ = await store.interventions.resolve(opened.id)
    assert (closed.screenshot, closed.status.value) == (None, "resolved")
