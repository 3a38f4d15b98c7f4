"""Surveys of a page for a person who writes a job: fetched like a page run, and described instead of collected."""

from corral.domain.runs.payload.survey import SurveyPayload
from corral.domain.runs.run import SURVEY
from corral.engine.worker.kinds.page import PageKind
from corral.engine.worker.kinds.spec import KindSpec

SURVEY_KIND = KindSpec(SURVEY, SurveyPayload, lambda parts: PageKind(parts.surveys, parts.host_access), lane=None)
