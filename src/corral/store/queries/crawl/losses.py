"""Pages that kill the process that reads them.

When a worker dies, every item that it held is a suspect: the page that killed it, and dozens of others. Suspects are
read separately: first a few together and nothing else, then each alone. The third worker that dies holds only the
guilty page; that page fails, and the crawl continues.
"""

import sqlalchemy as sa

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.payload import CrawlHelperPayload
from corral.domain.crawl.sharing import COORDINATOR
from corral.domain.runs.loss import LOSS_CAP, Suspicion
from corral.domain.runs.run import CRAWL_HELPER, WITH_ITEMS, Run
from corral.store.queries.crawl.rows import LOSSES, NEXT, WITH_PARENTS
from corral.store.tables import crawls, items, runs
from corral.store.tx import Row, Tx, is_state, param, values

POISON = "worker_lost:poison"
_MAX_TOGETHER = 4

_OF_RUN = items.c.run_id == param("run_id")
_LEASED = sa.and_(is_state(items.c.state, ItemState.LEASED), items.c.helper == param("helper"))
_SUSPECT = (_OF_RUN, is_state(items.c.state, ItemState.PENDING), items.c.losses > sa.literal_column("0"))
_HELD = sa.select(sa.func.count()).select_from(items).where(_OF_RUN, _LEASED)
_BLAME = sa.update(items).where(_OF_RUN, _LEASED, items.c.losses < param("cap")).values(losses=items.c.losses + 1)
_END = (
    sa.update(items)
    .where(_OF_RUN, _LEASED, items.c.losses >= LOSS_CAP)
    .values(state=ItemState.FAILED.value, reason=POISON, message=param("message"), updated_at=param("wall"))
)
_NOTE = (
    sa.update(crawls)
    .where(crawls.c.run_id == param("run_id"))
    .values(suspects=1, leased=crawls.c.leased - param("ended"), failed=crawls.c.failed + param("ended"))
)
_CLEARED = sa.update(crawls).where(crawls.c.run_id == param("run_id")).values(suspects=0)
# The next worker of the run executes nothing else.
_ISOLATE = sa.update(runs).where(runs.c.id == param("run_id")).values(suspect=int(Suspicion.ALONE))
_RESET_LOSSES = sa.update(runs).where(runs.c.id == param("run_id")).values(losses=0, interruptions=0)
_WORST = sa.select(sa.func.max(items.c.losses)).where(_OF_RUN, _LEASED)
_COUNT = sa.select(sa.func.count()).select_from(items).where(*_SUSPECT)
_NEXT = (
    sa.select(*NEXT)
    .select_from(WITH_PARENTS)
    .where(*_SUSPECT, items.c.due_at <= param("now"))
    .order_by(items.c.losses.desc(), items.c.rank, items.c.id)
    .limit(_MAX_TOGETHER)
)


def blame(tx: Tx, run: Run, exit_status: str, *, is_certain: bool) -> None:
    """Blame the items that a dead worker held, of this run or of the crawl it helped with.

    The blame is certain only if the worker was executing this run; otherwise another of its runs may be the cause.
    """
    if run.kind not in WITH_ITEMS:
        return
    is_helper = run.kind == CRAWL_HELPER
    number = run.payload.read(CrawlHelperPayload).helper if is_helper else COORDINATOR
    key = values(run_id=run.parent_id if is_helper else run.id, helper=number)
    held = tx.all(_HELD, key)[0][0]
    if not held:
        return
    is_sure = is_certain and held == 1
    tx.run(_BLAME, {**key, **values(cap=LOSS_CAP if is_sure else LOSS_CAP - 1)})
    message = f"{LOSS_CAP} workers died while they read this page (last: {exit_status})"
    ended = tx.run(_END, {**key, **values(message=message, wall=tx.wall_ms)})
    tx.run(_NOTE, {**key, **values(ended=ended)})
    if ended:
        tx.run(_RESET_LOSSES, key)
        tx.run(_RESET_LOSSES, values(run_id=run.id))
    elif not is_certain and tx.all(_WORST, key)[0][0] >= LOSS_CAP - 1:
        tx.run(_ISOLATE, key)


def suspects(tx: Tx, run_id: str) -> list[Row] | None:
    """Return the suspects to read now, with nothing else; None if none is due."""
    key = values(run_id=run_id)
    found = tx.all(_NEXT, {**key, **values(now=tx.now_ms)})
    if not found:
        if not tx.all(_COUNT, key)[0][0]:
            tx.run(_CLEARED, key)
        return None
    return found[:1] if found[0][LOSSES] >= LOSS_CAP - 1 else found
