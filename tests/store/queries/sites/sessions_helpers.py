"""Helpers of the tests of sessions, shared with other tests."""

from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.intervention import InterventionDraft, InterventionKind
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import Lease, RunAction
from corral.domain.runs.settlement import Settlement


def hold_for_login(lease: Lease) -> Settlement:
    draft = InterventionDraft(InterventionKind.LOGIN, "log in", "http://example.test/")
    transition = Transition(action=RunAction.HOLD, events=(EventDraft(EventKind.WAITING),), intervention=draft)
    return Settlement(lease, transition, {"attempt": lease.run.attempt})
