"""Helpers of the tests of artifacts, shared with other tests."""

from corral.domain.runs.artifact import Artifact
from corral.domain.runs.settlement import Settlement


def leave(settlement: Settlement, *artifacts: Artifact) -> Settlement:
    return settlement._replace(artifacts=artifacts)
