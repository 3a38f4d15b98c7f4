"""The verdict on the data of a run, written in the transaction that ends it; the job's history; its acceptance."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.errors import NothingToAccept
from corral.domain.quality.judge import DataFinding, Grade
from corral.domain.quality.run_profile import ProfileKey, RunProfile, judge_run
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.run import Run
from corral.domain.runs.settlement import Settlement
from corral.domain.verdicts.run_verdict import ACCEPTED, FINDINGS, VERDICT, apply_verdict, can_teach
from corral.store.queries import events
from corral.store.queries.runs import runs as run_queries
from corral.store.rows import at, from_json, run_of, to_json
from corral.store.tables import data_profiles, records, runs, withheld_runs
from corral.store.tx import Tx, first, insert_params, param, values

_OF_KEY = (data_profiles.c.owner == param("owner"), data_profiles.c.template == param("template"))
# Locked until the run is written: if two runs of a job end at once, the second is judged after the first is learned.
_READ = sa.select(data_profiles.c.document).where(*_OF_KEY).with_for_update()
_BEGIN = (
    insert(data_profiles)
    .values(insert_params(data_profiles))
    .on_conflict_do_nothing(index_elements=["owner", "template"])
)
_LEARN = sa.update(data_profiles).where(*_OF_KEY).values(document=param("document"), updated_at=param("updated_at"))
_WITHHOLD = insert(withheld_runs).values(insert_params(withheld_runs)).on_conflict_do_nothing(index_elements=["run_id"])
_WITHHELD = sa.select(withheld_runs).where(withheld_runs.c.run_id == param("run_id")).with_for_update()
_RELEASE = sa.delete(withheld_runs).where(withheld_runs.c.run_id == param("run_id"))
_ACCEPT = (
    sa.update(runs).where(runs.c.id == param("id")).values(stats=param("stats"), seq=runs.c.seq + 1).returning(runs)
)
_FORGET_JOB = sa.delete(data_profiles).where(data_profiles.c.owner == param("owner"))
_FORGET_OLD = sa.delete(data_profiles).where(data_profiles.c.owner == "", data_profiles.c.updated_at < param("before"))

# The verdict of the run that a record belongs to; null for ordinary data.
VERDICT_OF_RECORD = (
    sa.select(withheld_runs.c.verdict).where(withheld_runs.c.run_id == records.c.run_id).scalar_subquery()
)
IS_ORDINARY = ~sa.exists().where(withheld_runs.c.run_id == records.c.run_id)


class Judging:
    """The histories that were read for some settlements."""

    def __init__(self, histories: dict[ProfileKey, RunProfile]) -> None:
        self._histories = histories

    def write(self, tx: Tx, landed: Sequence[Settlement]) -> None:
        """Learn from good data and withhold other data, for settlements that were just written."""
        taught = set()
        for settlement in landed:
            if settlement.data is None:
                continue
            if is_suspect(settlement):
                _withhold(tx, settlement)
            elif can_teach(settlement.transition):
                self._histories[settlement.data.key].merge(settlement.data.profile)
                taught.add(settlement.data.key)
        for key in sorted(taught):
            _save(tx, key, self._histories[key])


def judge_all(tx: Tx, settlements: Sequence[Settlement]) -> tuple[list[Settlement], Judging]:
    """Return the settlements with their verdicts applied. One row is read for each job among them."""
    keys = sorted({each.data.key for each in settlements if each.data is not None})
    histories = {key: _read(tx, key) for key in keys}  # in a fixed order, so that two transactions cannot deadlock
    return [_judge(each, histories) for each in settlements], Judging(histories)


def _judge(settlement: Settlement, histories: dict[ProfileKey, RunProfile]) -> Settlement:
    if settlement.data is None:
        return settlement
    thresholds = settlement.lease.run.payload.read(CommonPayload).quality
    verdict = judge_run(histories[settlement.data.key], settlement.data.profile, thresholds)
    if verdict is None:
        return settlement
    return settlement._replace(transition=apply_verdict(settlement.transition, verdict))


def is_suspect(settlement: Settlement) -> bool:
    return settlement.transition.stats.get(VERDICT) in (Grade.SUSPECT, Grade.BROKEN)


def _read(tx: Tx, key: ProfileKey) -> RunProfile:
    named = values(owner=key.owner, template=key.template)
    row = first(tx.all(_READ, named))
    if row is None and tx.is_postgres:
        # A lock needs a row: without one, two first runs of a job would each write a history that lacks the other.
        tx.run(_BEGIN, {**named, **values(document="{}", updated_at=tx.wall_ms)})
        row = first(tx.all(_READ, named))
    return RunProfile.of(from_json(row[0])) if row is not None else RunProfile()


def _save(tx: Tx, key: ProfileKey, history: RunProfile) -> None:
    document = to_json(history.document())
    row = values(owner=key.owner, template=key.template, document=document, updated_at=tx.wall_ms)
    if tx.run(_LEARN, row) == 0:
        tx.run(_BEGIN, row)


def _withhold(tx: Tx, settlement: Settlement) -> None:
    assert settlement.data is not None
    key, profile = settlement.data
    row = values(
        run_id=settlement.lease.run_id,
        verdict=settlement.transition.stats[VERDICT],
        owner=key.owner,
        template=key.template,
        profile=to_json(profile.document()),
        created_at=tx.wall_ms,
    )
    tx.run(_WITHHOLD, row)


def accept(tx: Tx, run_id: str) -> Run:
    """Make the records of a run ordinary, and add its data to the history."""
    # Read this row first: it is the lock for two people who accept at the same time.
    row = first(tx.all(_WITHHELD, values(run_id=run_id)))
    run = run_queries.get(tx, run_id)
    if row is None:
        raise NothingToAccept(run_id, run.stats.get(VERDICT), is_accepted=ACCEPTED in run.stats)
    tx.run(_RELEASE, values(run_id=run_id))
    key = ProfileKey(row[2], row[3])
    history = _read(tx, key)
    findings = [DataFinding.of(each) for each in run.stats.get(FINDINGS, ())]
    history.adopt(RunProfile.of(from_json(row[4])), findings)
    _save(tx, key, history)
    return _note_acceptance(tx, run)


def _note_acceptance(tx: Tx, run: Run) -> Run:
    stats: dict[str, Any] = {**run.stats, ACCEPTED: at(tx.wall_ms).isoformat()}
    [changed] = tx.many_returning(_ACCEPT, [values(id=run.id, stats=to_json(stats))])
    assert changed is not None
    draft = EventDraft(EventKind.DATA_ACCEPTED, {VERDICT: run.stats.get(VERDICT)})
    events.insert(tx, events.rows_for(run.id, changed[-1], [draft], tx.wall_ms))
    return run_of(changed)


def release(tx: Tx, run_id: str) -> None:
    """Delete the verdict of a run whose records are gone."""
    tx.run(_RELEASE, values(run_id=run_id))


def forget_job(tx: Tx, job_id: str) -> None:
    tx.run(_FORGET_JOB, values(owner=job_id))


def forget_old(tx: Tx, before_ms: int) -> None:
    """Delete the histories of crawls without a job that were not repeated for a long time."""
    tx.run(_FORGET_OLD, values(before=before_ms))
