"""How much longer than on an idle machine something may take before a test says that it hangs.

The bounds in the tests tell "at once" from "never"; on a busy machine nothing happens at once.
"""

from tests.chaos.level import by_level

SLACK = by_level(6, 1)  # the long versions run alone
