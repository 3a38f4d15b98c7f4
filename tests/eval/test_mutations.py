"""Verdicts on broken and on good data: a lean version of `python -m eval.mutations`."""

from eval.mutations.__main__ import MAX_FALSE_ALARMS, MIN_DETECTION, measure
from eval.mutations.templates import make_templates


def test_broken_data_is_detected_and_good_data_is_accepted() -> None:
    figures = measure(range(1), good_runs=8)
    assert len(make_templates()) == 30
    assert figures.detection >= MIN_DETECTION, figures.misses
    assert figures.false_alarms <= max(1, MAX_FALSE_ALARMS * figures.good_runs), figures.misses
