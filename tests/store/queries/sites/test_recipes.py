import asyncio
from dataclasses import replace
from typing import Any

import pytest

from corral.domain.errors import RecipeNotFound
from corral.domain.jobs.job import Strategy
from corral.domain.sites.recipe.recipe import RecordedRecipe, recipe_of
from corral.domain.sites.site import Observation, fields_key
from corral.runtime.new_ids import new_id
from corral.store.store import Store

DOCUMENT: dict[str, Any] = {
    "calls": [{"method": "GET", "url": "{origin}/api/{path.1}", "headers": {}, "body": None}],
    "fields": {"name": {"call": 0, "value": "{$.name}"}, "größe": {"call": 0, "value": "{$.size} cm²"}},
}
OTHER = {**DOCUMENT, "fields": {"name": {"call": 0, "value": "{$.title}"}}}
LESSON = RecordedRecipe("example.org", "k", "/shop/*", DOCUMENT, "k")


async def test_a_recipe_is_kept_as_it_was_taught(store: Store) -> None:
    saved = await store.recipes.save(LESSON)
    assert saved is not None
    assert (saved.document, saved.version, saved.pinned) == (DOCUMENT, 1, False)
    assert await store.recipes.for_fields("example.org", "k") == [saved]
    assert await store.recipes.get(saved.id) == saved
    assert await store.recipes.for_fields("example.org", "other") == []
    assert await store.recipes.for_fields("example.com", "k") == []
    assert recipe_of(saved.url_pattern, saved.document).document() == saved.document


async def test_the_same_again_is_nothing_new_and_another_is_the_next_version(store: Store) -> None:
    first = await store.recipes.save(LESSON)
    assert first is not None
    assert await store.recipes.save(LESSON) is None
    second = await store.recipes.save(replace(LESSON, document=OTHER))
    assert second is not None
    assert (second.id, second.version, second.document) == (first.id, 2, OTHER)
    assert await store.recipes.save(replace(LESSON, url_pattern="/other/*")) is not None
    assert len(await store.recipes.for_fields("example.org", "k")) == 2


async def test_what_a_person_pinned_no_run_overwrites(store: Store) -> None:
    saved = await store.recipes.save(LESSON)
    assert saved is not None
    await store.recipes.change(saved.id, None, pinned=True)
    assert await store.recipes.save(replace(LESSON, document=OTHER)) is None
    kept = await store.recipes.get(saved.id)
    assert (kept.document, kept.pinned, kept.version) == (DOCUMENT, True, 1)
    await store.recipes.change(saved.id, None, pinned=False)
    assert await store.recipes.save(replace(LESSON, document=OTHER)) is not None


async def test_an_edited_recipe_of_a_job_with_selectors_starts_without_old_failures(
    store: Store,
) -> None:
    """Recipes are kept by field and selector, the memory of a site by the names of the fields."""
    names = fields_key(DOCUMENT["fields"])
    saved = await store.recipes.save(replace(LESSON, fields_key="names-and-selectors", memory_key=names))
    assert saved is not None
    failed = Observation("example.org", names, Strategy.API_REPLAY, succeeded=False, requested=2, found=0, cost_ms=5)
    await store.sites.learn([failed, replace(failed, strategy=Strategy.BROWSER, succeeded=True)])
    await store.recipes.change(saved.id, None, pinned=True)
    assert len(await store.sites.memories("example.org")) == 2
    await store.recipes.change(saved.id, DOCUMENT, pinned=True)
    assert [memory.strategy for memory in await store.sites.memories("example.org")] == [Strategy.BROWSER]


async def test_an_edit_is_a_version_and_a_deleted_one_is_gone(store: Store) -> None:
    saved = await store.recipes.save(LESSON)
    assert saved is not None
    edited = await store.recipes.change(saved.id, OTHER, pinned=True)
    assert (edited.document, edited.version, edited.pinned) == (OTHER, 2, True)
    await store.recipes.delete(saved.id)
    for asked in (
        store.recipes.get(saved.id),
        store.recipes.delete(saved.id),
        store.recipes.change(saved.id, None, pinned=True),
    ):
        with pytest.raises(RecipeNotFound):
            await asked


async def test_a_new_recipe_starts_without_the_failures_of_the_old_one(store: Store) -> None:
    failed = Observation("example.org", "k", Strategy.API_REPLAY, succeeded=False, requested=1, found=0, cost_ms=5)
    await store.recipes.save(LESSON)
    await store.sites.learn([failed, replace(failed, strategy=Strategy.BROWSER)])
    await store.recipes.save(LESSON)
    assert len(await store.sites.memories("example.org")) == 2
    await store.recipes.save(replace(LESSON, document=OTHER))
    assert [memory.strategy for memory in await store.sites.memories("example.org")] == [Strategy.BROWSER]


async def test_lists_are_newest_first_and_by_host(store: Store) -> None:
    saved = [await store.recipes.save(replace(LESSON, host=host)) for host in ("a.org", "b.org", "c.org")]
    ids = [each.id for each in saved if each is not None]
    assert [each.id for each in await store.recipes.newest(None, None, 2)] == ids[:0:-1]
    assert [each.id for each in await store.recipes.newest(None, ids[1], 2)] == ids[:1]
    assert [each.id for each in await store.recipes.newest("b.org", None, 9)] == [ids[1]]
    assert await store.recipes.newest("d.org", new_id(), 9) == []


async def test_many_who_teach_at_once_leave_one(store: Store) -> None:
    saved = await asyncio.gather(*(store.recipes.save(LESSON) for _ in range(20)))
    assert sum(each is not None for each in saved) == 1
    assert len(await store.recipes.for_fields("example.org", "k")) == 1


async def test_the_sites_there_is_evidence_of(store: Store) -> None:
    seen = Observation("a.org", "k", Strategy.HTTP, succeeded=True, requested=1, found=1, cost_ms=5)
    await store.sites.learn([seen, replace(seen, strategy=Strategy.BROWSER), replace(seen, host="b.org")])
    await store.recipes.save(replace(LESSON, host="a.org"))
    await store.recipes.save(replace(LESSON, host="a.org", url_pattern="/x"))
    found = {site.host: (site.attempts, site.recipes) for site in await store.sites.list_known(10)}
    assert found == {"a.org": (2, 2), "b.org": (1, 0)}
    assert len(await store.sites.list_known(1)) == 1
