"""Options of a run that surveys a page for a person who writes a job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from corral.domain.jobs.survey import Survey
from corral.domain.runs.payload.page import PagePayload, page_options


@dataclass(frozen=True)
class SurveyPayload(PagePayload):
    survey: Survey = Survey.PAGE

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**page_options(document), survey=Survey(document["survey"]))

    def document(self) -> dict[str, Any]:
        return {**super().document(), "survey": self.survey.value}
