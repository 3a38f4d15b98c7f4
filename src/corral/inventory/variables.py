"""Values of the data inventory that come from the environment, such as passwords."""

import re
from collections.abc import Mapping

from corral.domain.coverage.errors import InventoryUnreadable

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill_variables(text: str, environment: Mapping[str, str]) -> str:
    """Replace every `${NAME}`; InventoryUnreadable if the environment has no such variable."""

    def value_of(found: re.Match[str]) -> str:
        value = environment.get(found[1])
        if value is None:
            raise InventoryUnreadable(f"the environment variable {found[1]} is not set", hint="set it and start again")
        return value

    return _VARIABLE.sub(value_of, text)
