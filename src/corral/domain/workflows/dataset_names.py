"""The datasets that unfinished work needs, and that retention therefore must not delete."""

from collections.abc import Iterable, Mapping
from typing import Any

from corral.domain.workflows.kinds.spec import has_reference


class NamesInUse:
    """The names of datasets that unfinished runs and workflows build."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._has_unknown = False  # a name that follows from the output of a step that has not ended

    def add_config(self, config: Any) -> None:
        """Add the configuration of a build, or a reference to one."""
        name = config.get("dataset_name") if isinstance(config, Mapping) else config
        if not isinstance(name, str) or has_reference(name):
            self._has_unknown = True
        else:
            self._names.add(name.strip())

    def add_steps(self, steps: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Add the steps of a workflow, given as kinds and configurations."""
        for kind, config in steps:
            if kind == "dataset":
                self.add_config(config.get("dataset"))

    def __contains__(self, name: str) -> bool:
        return self._has_unknown or name in self._names
