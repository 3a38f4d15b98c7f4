"""The images of a build in the database."""

from corral.domain.datasets.image import FoundImage, ImageFacts, ImageResult, ImageState, ImageVerdict, NearPair
from corral.store.store import Store

BUILD = "b1"


def make_image(number: int, **more: str) -> FoundImage:
    return FoundImage(f"https://example.com/{number}.jpg", "cats", **more)


def done(image: FoundImage, recipe: str = "r1", **facts: object) -> ImageResult:
    return ImageResult(
        image.key,
        ImageState.DOWNLOADED,
        attempt=1,
        run_id="run",
        pack="p",
        start=5,
        size=7,
        recipe=recipe,
        facts=ImageFacts(sha256="s", phash=2**64 - 1, **facts),  # type: ignore[arg-type]
    )


async def test_images_are_added_once_and_up_to_the_limit(store: Store) -> None:
    assert await store.datasets.add_images(BUILD, [make_image(1), make_image(2), make_image(1)], None) == (2, 2)
    assert await store.datasets.add_images(BUILD, [make_image(2), make_image(3), make_image(4)], 3) == (1, 3)
    assert await store.datasets.add_images("other", [make_image(1)], None) == (1, 1)


async def test_an_image_is_leased_settled_and_read_back(store: Store) -> None:
    one, two = make_image(1, page_url="https://example.com/", caption="a cat\0"), make_image(2)
    await store.datasets.add_images(BUILD, [one, two], None)
    leased, pending, wait_s = await store.datasets.step_download(BUILD, [], 1)
    assert ([row.key for row in leased], pending, wait_s) == ([one.key], 1, 0.0)
    leased, pending, _ = await store.datasets.step_download(BUILD, [done(one)], 10)
    assert ([row.key for row in leased], pending) == ([two.key], 0)
    later = ImageResult(two.key, ImageState.PENDING, "http_503", 1, due_in_s=60)
    leased, pending, wait_s = await store.datasets.step_download(BUILD, [later], 10)
    assert leased == []
    assert pending == 1
    assert wait_s is not None
    assert 50 < wait_s <= 60
    rows = await store.datasets.page_images(BUILD, "", 10)
    stored = next(row for row in rows if row.key == one.key)
    assert (stored.caption, stored.page_url, stored.location) == ("a cat", one.page_url, ("p", 5, 7))
    assert stored.facts == ImageFacts(sha256="s", phash=2**64 - 1)
    assert await store.datasets.page_images(BUILD, rows[0].key, 10) == rows[1:]
    assert await store.datasets.count_images(BUILD) == [("downloaded", "", 1), ("pending", "http_503", 1)]


async def test_a_run_that_takes_over_gives_back_what_was_leased_and_what_another_recipe_made(store: Store) -> None:
    one, two, three = make_image(1), make_image(2), make_image(3, refusal="policy:noai")
    await store.datasets.add_images(BUILD, [one, two, three], None)
    await store.datasets.step_download(BUILD, [], 10)
    await store.datasets.step_download(BUILD, [done(one)], 0)
    assert await store.datasets.begin_download(BUILD, ["r0", "r1"], retries=False) == 1
    assert await store.datasets.begin_download(BUILD, ["r2"], retries=False) == 2
    assert await store.datasets.begin_download(BUILD, ["r2"], retries=True) == 3
    # A result of the run that lost its images is not written.
    await store.datasets.step_download(BUILD, [done(two)], 0)
    assert await store.datasets.begin_download(BUILD, ["r2"], retries=False) == 3


async def test_verdicts_pairs_and_progress_are_kept(store: Store) -> None:
    one, two = make_image(1), make_image(2)
    await store.datasets.add_images(BUILD, [one, two], None)
    await store.datasets.judge_images(BUILD, [ImageVerdict(one.key, ImageState.DUPLICATE, "near", two.key, 3)])
    await store.datasets.add_pairs(BUILD, [NearPair(one.key, two.key, 3)], [one.key])
    await store.datasets.add_pairs(BUILD, [NearPair(one.key, two.key, 3)], [])
    row = next(row for row in await store.datasets.page_images(BUILD, "", 10) if row.key == one.key)
    assert (row.state, row.duplicate_of, row.distance, row.is_indexed) == ("duplicate", two.key, 3, True)
    assert await store.datasets.near_pairs(BUILD, 3) == [NearPair(one.key, two.key, 3)]
    assert await store.datasets.near_pairs(BUILD, 2) == []
    await store.datasets.forget_pairs(BUILD)
    assert await store.datasets.near_pairs(BUILD, 64) == []
    assert await store.datasets.open_build(BUILD, "name", "run1") == {}
    await store.datasets.note_build(BUILD, {"sources": ["a"]})
    assert await store.datasets.open_build(BUILD, "name", "run2") == {"sources": ["a"]}
