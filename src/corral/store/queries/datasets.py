"""The images of dataset builds: discovery, download and verdicts."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from corral.domain.datasets.image import (
    FoundImage,
    ImageFacts,
    ImageResult,
    ImageRow,
    ImageState,
    ImageVerdict,
    NearPair,
)
from corral.store.dataset_tables import dataset_builds, dataset_images, dataset_pairs
from corral.store.rows import from_json, storable, to_json
from corral.store.tx import Row, Tx, first, insert_params, param, values

_images = dataset_images.c
_OF_BUILD = _images.build == param("build")
_OPEN = (
    postgresql.insert(dataset_builds)
    .values(insert_params(dataset_builds))
    .on_conflict_do_update(
        index_elements=["build"], set_={"run_id": param("run_id"), "updated_at": param("updated_at")}
    )
)
_READ = sa.select(dataset_builds.c.progress).where(dataset_builds.c.build == param("build"))
_NOTE = (
    sa.update(dataset_builds)
    .values(progress=param("progress"), updated_at=param("now"))
    .where(dataset_builds.c.build == param("build"))
)
_ADD = (
    postgresql.insert(dataset_images)
    .values(insert_params(dataset_images))
    .on_conflict_do_nothing(index_elements=["build", "key"])
)
_LAST = sa.select(sa.func.max(_images.seq), sa.func.count()).where(_OF_BUILD)
_ACCEPTED = ("recipe_0", "recipe_1", "recipe_2")  # a statement takes a limited number of parameters
# A run that takes over a build resets images that an earlier run had leased or processed by another recipe.
_RELEASE = (
    sa.update(dataset_images)
    .values(state=ImageState.PENDING.value, due_at=0)
    .where(_OF_BUILD, _images.state == ImageState.LEASED.value)
)
_REDO = (
    sa.update(dataset_images)
    .values(state=ImageState.PENDING.value, due_at=0, attempt=0, is_indexed=0)
    .where(
        _OF_BUILD,
        *(_images.recipe != param(name) for name in _ACCEPTED),
        _images.state.in_(
            [state.value for state in (ImageState.DOWNLOADED, ImageState.QUARANTINED, ImageState.DUPLICATE)]
            + [ImageState.KEPT.value]
        ),
    )
)
_RETRY = (
    sa.update(dataset_images)
    .values(state=ImageState.PENDING.value, due_at=0, attempt=0)
    .where(_OF_BUILD, _images.state.in_([ImageState.FAILED.value, ImageState.REFUSED.value]))
)
_COLUMNS = [getattr(_images, name) for name in ImageRow.__struct_fields__]
_LEASABLE = (
    sa.select(_images.key)
    .where(_OF_BUILD, _images.state == ImageState.PENDING.value, _images.due_at <= param("now"))
    .order_by(_images.due_at, _images.seq)
    .limit(param("limit"))
)
_LEASE = (
    sa.update(dataset_images)
    .values(state=ImageState.LEASED.value)
    .where(_OF_BUILD, _images.key.in_(_LEASABLE))
    .returning(*_COLUMNS)
)
_NEXT_DUE = sa.select(sa.func.min(_images.due_at), sa.func.count()).where(
    _OF_BUILD, _images.state == ImageState.PENDING.value
)
_SETTLE = (
    sa.update(dataset_images)
    .values(
        state=param("state"),
        reason=param("reason"),
        attempt=param("attempt"),
        due_at=param("due_at"),
        run_id=param("run_id"),
        pack=param("pack"),
        start=param("start"),
        size=param("size"),
        recipe=param("recipe"),
        facts=param("facts"),
    )
    .where(_OF_BUILD, _images.key == param("key"), _images.state == ImageState.LEASED.value)
)
_COUNTS = (
    sa.select(_images.state, _images.reason, sa.func.count())
    .where(_OF_BUILD)
    .group_by(_images.state, _images.reason)
    .order_by(_images.state, _images.reason)
)
_PAGE = sa.select(*_COLUMNS).where(_OF_BUILD, _images.key > param("after")).order_by(_images.key).limit(param("limit"))
_JUDGE = (
    sa.update(dataset_images)
    .values(
        state=param("state"), reason=param("reason"), duplicate_of=param("duplicate_of"), distance=param("distance")
    )
    .where(_OF_BUILD, _images.key == param("key"))
)
_ADD_PAIR = (
    postgresql.insert(dataset_pairs)
    .values(insert_params(dataset_pairs))
    .on_conflict_do_nothing(index_elements=["build", "first", "second"])
)
_MARK_INDEXED = sa.update(dataset_images).values(is_indexed=1).where(_OF_BUILD, _images.key == param("key"))
_PAIRS = sa.select(dataset_pairs.c.first, dataset_pairs.c.second, dataset_pairs.c.distance).where(
    dataset_pairs.c.build == param("build"), dataset_pairs.c.distance <= param("distance")
)
_FORGET_PAIRS = sa.delete(dataset_pairs).where(dataset_pairs.c.build == param("build"))
_FORGET_INDEX = sa.update(dataset_images).values(is_indexed=0).where(_OF_BUILD)


def open_build(tx: Tx, build: str, name: str, run_id: str) -> dict[str, Any]:
    """Take the build over for this run; return the progress of earlier ones."""
    tx.run(_OPEN, values(build=build, name=name, run_id=run_id, progress="{}", updated_at=tx.wall_ms))
    row = first(tx.all(_READ, values(build=build)))
    return {} if row is None else dict(from_json(row[0]))


def note_build(tx: Tx, build: str, progress: Mapping[str, Any]) -> None:
    tx.run(_NOTE, values(build=build, progress=to_json(dict(progress)), now=tx.wall_ms))


def add_images(tx: Tx, build: str, found: Sequence[FoundImage], limit: int | None) -> tuple[int, int]:
    """Add images that are not known yet, up to the limit; return the number of new ones and of all."""
    [(last, count)] = tx.all(_LAST, values(build=build))
    seq, before = (-1 if last is None else last), count
    for each in found:
        if limit is not None and count >= limit:
            break
        seq += 1
        count += tx.run(_ADD, _new_row(build, seq, each))
    return count - before, count


def _new_row(build: str, seq: int, found: FoundImage) -> dict[str, Any]:
    return values(
        build=build,
        key=found.key,
        seq=seq,
        url=storable(found.url),
        category=found.category,
        keyword=storable(found.keyword),
        page_url=storable(found.page_url),
        caption=storable(found.caption),
        source=found.source,
        state=(ImageState.REFUSED if found.refusal else ImageState.PENDING).value,
        reason=found.refusal,
        attempt=0,
        due_at=0,
        run_id="",
        pack="",
        start=0,
        size=0,
        recipe="",
        is_indexed=0,
        duplicate_of="",
        distance=0,
        facts="{}",
    )


def begin_download(tx: Tx, build: str, recipes: Sequence[str], *, retries: bool) -> int:
    """Make all images pending that this run has to download; return their number."""
    tx.run(_RELEASE, values(build=build))
    accepted = dict(zip(_ACCEPTED, [*recipes, *[recipes[0]] * len(_ACCEPTED)], strict=False))
    if tx.run(_REDO, values(build=build, **accepted)):
        forget_pairs(tx, build)
    if retries:
        tx.run(_RETRY, values(build=build))
    [(_, count)] = tx.all(_NEXT_DUE, values(build=build))
    return int(count)


def step_download(
    tx: Tx, build: str, results: Sequence[ImageResult], limit: int
) -> tuple[list[ImageRow], int, float | None]:
    """Write results and lease more images; return them, how many are pending, and when the next one is due."""
    if results:
        tx.many(_SETTLE, [_result_row(tx, build, each) for each in results])
    rows = tx.all(_LEASE, values(build=build, now=tx.now_ms, limit=limit)) if limit else []
    [(due, pending)] = tx.all(_NEXT_DUE, values(build=build))
    wait_s = None if due is None else max(0.0, (due - tx.now_ms) / 1000)
    return sorted((_image_row(row) for row in rows), key=lambda row: row.seq), int(pending), wait_s


def _result_row(tx: Tx, build: str, result: ImageResult) -> dict[str, Any]:
    return values(
        build=build,
        key=result.key,
        state=result.state,
        reason=storable(result.reason),
        attempt=result.attempt,
        due_at=tx.now_ms + round(result.due_in_s * 1000) if result.due_in_s else 0,
        run_id=result.run_id,
        pack=result.pack,
        start=result.start,
        size=result.size,
        recipe=result.recipe,
        facts="{}" if result.facts is None else msgspec.json.encode(result.facts).decode(),
    )


def _image_row(row: Row) -> ImageRow:
    facts = msgspec.convert(from_json(row[-1]), ImageFacts)
    return msgspec.convert([*row[:16], bool(row[16]), *row[17:-1], facts], ImageRow)


def count_images(tx: Tx, build: str) -> list[tuple[str, str, int]]:
    return [(row[0], row[1], int(row[2])) for row in tx.all(_COUNTS, values(build=build))]


def page_images(tx: Tx, build: str, after: str, limit: int) -> list[ImageRow]:
    """Return the next images in key order."""
    return [_image_row(row) for row in tx.all(_PAGE, values(build=build, after=after, limit=limit))]


def judge_images(tx: Tx, build: str, verdicts: Sequence[ImageVerdict]) -> None:
    if verdicts:
        tx.many(_JUDGE, [values(build=build, **msgspec.structs.asdict(each)) for each in verdicts])


def add_pairs(tx: Tx, build: str, pairs: Sequence[NearPair], indexed: Sequence[str]) -> None:
    """Save near pairs, and mark the images whose pairs are complete."""
    if pairs:
        tx.many(_ADD_PAIR, [values(build=build, **msgspec.structs.asdict(each)) for each in pairs])
    if indexed:
        tx.many(_MARK_INDEXED, [values(build=build, key=key) for key in indexed])


def forget_pairs(tx: Tx, build: str) -> None:
    """Delete all pairs: another distance needs other pairs."""
    tx.run(_FORGET_PAIRS, values(build=build))
    tx.run(_FORGET_INDEX, values(build=build))


def near_pairs(tx: Tx, build: str, distance: int) -> list[NearPair]:
    return [NearPair(*row) for row in tx.all(_PAIRS, values(build=build, distance=distance))]
