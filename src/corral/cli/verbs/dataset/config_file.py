"""The configuration file of a dataset."""

from pathlib import Path
from typing import Any

from corral.domain.datasets.config import DatasetConfig, parse_config
from corral.domain.errors import BadConfiguration
from corral.files.yaml_file import read_yaml, to_plain

# Each step of the workflow stores a copy of the configuration.
_MAX_BYTES = 48 * 1024


def read_dataset_config(path: Path) -> tuple[dict[str, Any], DatasetConfig]:
    """Return the document of a YAML or JSON file, and its configuration; raise BadConfiguration with every problem."""
    try:
        document = to_plain(read_yaml(path, _MAX_BYTES, size_hint="; put addresses into another file"))
    except FileNotFoundError:
        raise BadConfiguration(
            [f"there is no configuration {path}; see docs/howto/datasets.md for an example"]
        ) from None
    return document, parse_config(document, str(path))
