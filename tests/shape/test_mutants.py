"""Every mutant of the fault-injection suite still applies to the sources."""

from tests.chaos.mutants import MUTANTS
from tests.shape.files import ROOT


def test_every_mutant_applies() -> None:
    stale = [each.name for each in MUTANTS if (ROOT / each.file).read_text().count(each.old) != 1]
    assert not stale, f"the code has changed, adapt the mutants: {stale}"
