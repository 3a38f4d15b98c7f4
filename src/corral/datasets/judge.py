"""Validate the downloaded images and find the duplicates among the valid ones."""

import asyncio

from corral.datasets.context import BuildContext
from corral.domain.datasets.duplicates import Duplicate, HashedImage, choose_duplicates, find_pairs
from corral.domain.datasets.image import STORED, ImageRow, ImageState, ImageVerdict, NearPair
from corral.domain.datasets.options import DuplicateAction, DuplicateMode
from corral.domain.datasets.validation import judge_image

_STORED = frozenset(STORED)
_VALID = frozenset({ImageState.DOWNLOADED, ImageState.KEPT, ImageState.DUPLICATE})


async def validate(context: BuildContext) -> dict[str, int]:
    """Put images that are not valid into quarantine; return the counts by reason."""
    reasons: dict[str, int] = {}
    count = 0
    async for rows in context.store.pages():
        verdicts = []
        for row in rows:
            if row.state not in _STORED:
                continue
            reason = judge_image(row.facts, context.config.options)
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
                if (row.state, row.reason) != (ImageState.QUARANTINED, reason):
                    verdicts.append(ImageVerdict(row.key, ImageState.QUARANTINED, reason))
            elif row.state not in _VALID:
                verdicts.append(ImageVerdict(row.key, ImageState.DOWNLOADED))
        await context.store.judge(verdicts)
        count += len(rows)
        context.report(count, count)
    return reasons


async def deduplicate(context: BuildContext) -> dict[str, int]:
    """Mark every valid image as kept or as a duplicate; return the counts by reason."""
    rule = context.config.options.deduplicate
    rows: dict[str, ImageRow] = {}
    async for page in context.store.pages():
        rows |= {row.key: row for row in page if row.state in _VALID}
        context.report(len(rows), len(rows))
    candidates = [_candidate(row) for row in rows.values()]
    if rule.mode is DuplicateMode.OFF:
        duplicates = []
    elif rule.mode is DuplicateMode.EXACT:
        duplicates = choose_duplicates(candidates)
    else:
        duplicates = choose_duplicates(candidates, await _find_pairs(context, rows, rule.distance))
    return await _mark(context, rows, duplicates)


async def _find_pairs(context: BuildContext, rows: dict[str, ImageRow], distance: int) -> list[NearPair]:
    """Return all near pairs, after comparing the images that are not in the index yet."""
    store, progress = context.store, context.progress
    indexed_keys = {key for key, row in rows.items() if row.is_indexed}
    if progress.get("distance") not in (None, distance):
        await store.forget_pairs()
        indexed_keys.clear()
    if progress.get("distance") != distance:
        progress["distance"] = distance
        await store.note(progress)
    new = [_candidate(row) for key, row in rows.items() if key not in indexed_keys]
    if new:
        indexed = [_candidate(row) for key, row in rows.items() if key in indexed_keys]
        pairs, compared = await asyncio.to_thread(find_pairs, indexed, new, distance)
        await store.add_pairs(pairs, [image.key for image in new])
        context.details["deduplicate"] = {"new": len(new), "known": len(indexed), "compared": compared}
    return await store.near_pairs(distance)


async def _mark(context: BuildContext, rows: dict[str, ImageRow], duplicates: list[Duplicate]) -> dict[str, int]:
    action = context.config.options.deduplicate.action
    reasons: dict[str, int] = {}
    by_key = {duplicate.key: duplicate for duplicate in duplicates}
    verdicts = []
    for key, row in rows.items():
        duplicate = by_key.get(key)
        if duplicate is None:
            verdict = ImageVerdict(key, ImageState.KEPT)
        else:
            reasons[duplicate.reason] = reasons.get(duplicate.reason, 0) + 1
            if row.category != rows[duplicate.of].category:
                reasons["other_category"] = reasons.get("other_category", 0) + 1
            state = ImageState.KEPT if action is DuplicateAction.REPORT else ImageState.DUPLICATE
            verdict = ImageVerdict(key, state, duplicate.reason, duplicate.of, duplicate.distance)
        if verdict != ImageVerdict(key, row.state, row.reason, row.duplicate_of, row.distance):
            verdicts.append(verdict)
    await context.store.judge(verdicts)
    return reasons


def _candidate(row: ImageRow) -> HashedImage:
    facts = row.facts
    return HashedImage(row.key, facts.sha256, facts.width * facts.height, facts.dhash, facts.phash or 0, facts.contrast)
