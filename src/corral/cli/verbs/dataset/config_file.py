"""The configuration file of a dataset."""

from pathlib import Path
from typing import Any

from corral.domain.datasets.config import DatasetConfig, parse_config
from corral.domain.errors import BadConfiguration
from corral.wiring.coverage import to_plain

# Each step of the workflow stores a copy of the configuration.
_MAX_BYTES = 48 * 1024


def read_dataset_config(path: Path) -> tuple[dict[str, Any], DatasetConfig]:
    """Return the document of a YAML or JSON file, and its configuration; raise BadConfiguration with every problem."""
    import yaml  # noqa: PLC0415 - only where a file is read

    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadConfiguration(
                [f"{path}: is larger than {_MAX_BYTES // 1024} KiB; put addresses into another file"]
            )
        document = to_plain(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise BadConfiguration(
            [f"there is no configuration {path}; see docs/howto/datasets.md for an example"]
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration([f"{path}: cannot be read ({error})"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise BadConfiguration([f"{path}: {where}{getattr(error, 'problem', None) or 'is no YAML'}"]) from None
    return document, parse_config(document, str(path))
