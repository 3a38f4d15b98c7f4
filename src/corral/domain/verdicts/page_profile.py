"""The data of an ended run, for its verdict."""

import hashlib

from corral.domain.quality.profile import ProfileBuilder
from corral.domain.quality.run_profile import ObservedData, ProfileKey, RunProfile
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.retry import FIELDS_MISSING, Transition
from corral.domain.runs.run import PAGE, Run, RunState
from corral.domain.verdicts.asked_fields import add_record


def observe_page(run: Run, transition: Transition) -> ObservedData | None:
    """Return the data of a page that a job collected; None for other runs, or without a verdict."""
    if run.kind != PAGE or run.job_id is None or not _has_data(transition):
        return None
    payload = run.payload.read(PagePayload)
    if not payload.quality.is_on or not payload.fields:
        return None
    builder = ProfileBuilder()
    # A page without any field has no record: each field counts as missing once.
    for record in transition.records or ({},):
        add_record(builder, record, payload.fields)
    template = hashlib.blake2b(payload.url.encode(), digest_size=16).hexdigest()
    return ObservedData(ProfileKey(run.job_id, template), RunProfile({"": builder.finish()}))


def _has_data(transition: Transition) -> bool:
    if transition.to is RunState.FAILED:
        return transition.failure is not None and transition.failure.detail == FIELDS_MISSING
    return transition.to in (RunState.COMPLETED, RunState.PARTIAL)
