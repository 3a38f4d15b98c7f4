"""Which run a run is compared with."""

from corral.domain.ids import RunId
from corral.domain.records.changes import choose_baseline, has_every_row
from corral.domain.runs.run import RunState
from tests.domain.runs.builders import A_RUN

LATER = A_RUN._replace(id=RunId("c"), state=RunState.PARTIAL)
GOOD = A_RUN._replace(id=RunId("a"), state=RunState.COMPLETED, stats={})
JUDGED = LATER._replace(id=RunId("b"), failure_detail="data_verdict", stats={"verdict": "suspect"})
ACCEPTED = JUDGED._replace(stats={**JUDGED.stats, "verdict_accepted_at": 1})


def test_withheld_data_is_compared_with_only_after_a_person_accepted_it() -> None:
    assert choose_baseline(LATER, [JUDGED, GOOD]) is GOOD
    assert choose_baseline(LATER, [JUDGED]) is None
    assert choose_baseline(LATER, [ACCEPTED, GOOD]) is ACCEPTED
    assert not has_every_row(JUDGED)


def test_a_run_that_missed_rows_is_compared_with_only_if_there_is_no_other() -> None:
    partial = GOOD._replace(id=RunId("b"), state=RunState.PARTIAL)
    cut = GOOD._replace(id=RunId("b"), stats={"stopped_by": "budget"})
    for missed in (partial, cut):
        assert choose_baseline(LATER, [missed, GOOD]) is GOOD
        assert choose_baseline(LATER, [missed]) is missed
    assert choose_baseline(LATER, [GOOD._replace(state=RunState.FAILED)]) is None
