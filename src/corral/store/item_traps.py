"""What a crawl has learned of the templates of its addresses, and what it holds back for it: see domain.traps.

The worker decides; what it decided is written in the transaction of the pages it decided by.
"""

from collections.abc import Callable, Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl import ItemState
from corral.domain.item import MAX_ROWS
from corral.domain.share import OWN, place_of_template
from corral.domain.traps import Trap
from corral.store import item_shares
from corral.store.item_shares import Hand
from corral.store.rows import from_json, storable, to_json
from corral.store.tables import crawl_templates, items
from corral.store.tx import Tx, is_state, param, values

_OF_RUN = crawl_templates.c.run_id == param("run_id")
_LOAD = sa.select(crawl_templates.c.name, crawl_templates.c.tally).where(_OF_RUN)
_KEEP = (
    insert(crawl_templates)
    .values(run_id=param("run_id"), name=param("name"), tally=param("tally"))
    .on_conflict_do_update(index_elements=["run_id", "name"], set_={"tally": param("tally")})
)
_DROP = sa.delete(crawl_templates).where(_OF_RUN, crawl_templates.c.name == param("name"))
_DROP_ALL = sa.delete(crawl_templates).where(_OF_RUN)
_HELD = (
    items.c.run_id == param("run_id"),
    is_state(items.c.state, ItemState.SKIPPED),
    items.c.message.is_not(None),
    items.c.reason.in_((Trap.NO_NEW_CONTENT.value, Trap.QUERY_VARIANTS.value)),
)
_HELD_NAMES = sa.select(items.c.reason, items.c.message).where(*_HELD).distinct()
# The last that were held first; and those that came back before them are fetched before them.
_SOME = (
    sa.select(items.c.id)
    .where(*_HELD, items.c.message == param("name"), items.c.reason == param("reason"))
    .order_by(items.c.id.desc())
    .limit(param("limit"))
)
_LIFT = (
    sa.update(items)
    .where(items.c.id == param("id"))
    .values(
        state=ItemState.PENDING.value,
        reason=sa.null(),
        message=sa.null(),
        due_at=0,
        share=param("share"),
        # As a number with a fraction: PostgreSQL would make a whole one of what is added to the depth.
        rank=sa.case((param("by_depth") == 1, sa.cast(items.c.depth, sa.Double) + param("rank")), else_=items.c.rank),
    )
)


def stepped(tx: Tx, hand: Hand, told: dict[str, Any], *, by_depth: bool) -> tuple[dict[str, Any], int]:
    """Write what a worker tells of templates; what it asked for, and how many items came back."""
    key = values(run_id=hand.run_id)
    kept = [
        {**key, **values(name=storable(name), tally=to_json(tally))}
        for name, tally in sorted(told["tallies"].items())
        if tally is not None
    ]
    dropped = [{**key, **values(name=storable(name))} for name, tally in told["tallies"].items() if tally is None]
    if kept:
        tx.many(_KEEP, kept)
    if dropped:
        tx.many(_DROP, dropped)
    lifted = [
        _lift(tx, hand, {**key, **values(name=storable(name), reason=reason, limit=min(limit, MAX_ROWS))}, by_depth)
        for reason, name, limit in told["lifts"]
    ]
    answer: dict[str, Any] = {"lifted": lifted}
    if told["begins"]:
        answer |= _known_at_first(tx, hand)
    return answer, sum(lifted)


def _lift(tx: Tx, hand: Hand, which: dict[str, Any], by_depth: bool) -> int:
    """Let some come back, and be fetched the last held first: where one proved its worth, the next ones may.

    In the other order a batch that begins with what is worth nothing would starve them all again before their turn.
    """
    found = [row[0] for row in tx.all(_SOME, which)]
    # After all others of their depth, and never after those of the next; what a helper held back is its own.
    order = 0.5 + (tx.wall_ms % 10**9) / 10**10
    own = values(share=hand.share, by_depth=int(by_depth))
    lifts = [{**own, **values(id=id_, rank=order + place / 10**13)} for place, id_ in enumerate(found)]
    return tx.many(_LIFT, lifts) if lifts else 0


def _known_at_first(tx: Tx, hand: Hand) -> dict[str, Any]:
    """A helper begins with nothing: what is known of a place comes with it."""
    if hand.share != OWN:
        return {"templates": [], "held": []}
    others = item_shares.places_of_others(tx, hand.run_id) if hand.is_shared else set()
    return _known(tx, hand.run_id, lambda name: not others or place_of_template(name) not in others)


def known_of(tx: Tx, run_id: str, places: Collection[str]) -> dict[str, Any]:
    """What whoever had these places has learned of them."""
    return _known(tx, run_id, lambda name: place_of_template(name) in places)


def _known(tx: Tx, run_id: str, is_wanted: Callable[[str], bool]) -> dict[str, Any]:
    key = values(run_id=run_id)
    return {
        "templates": [[name, *from_json(tally)] for name, tally in tx.all(_LOAD, key) if is_wanted(name)],
        "held": [[reason, name] for reason, name in tx.all(_HELD_NAMES, key) if is_wanted(name)],
    }


def forget(tx: Tx, run_id: str) -> None:
    tx.run(_DROP_ALL, values(run_id=run_id))
