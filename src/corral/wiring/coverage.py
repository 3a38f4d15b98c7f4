"""Read the data inventory, and reconcile it in this process or in a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.coverage.spec import SourceSpec
from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.ports.coverage import CoverageStore
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.inventory.scan import ScanContext
from corral.settings import Settings
from corral.wiring.probe import make_egress
from corral.wiring.scrapers import registry_key

_QUEUE_FILE = Path("inventory/gaps.json")
_MAX_BYTES = 16 * 1024 * 1024


def read_inventory_document(path: Path) -> Any:
    """Return the document in a data inventory file; raise BadConfiguration if it cannot be read."""
    import yaml  # noqa: PLC0415 - only where a file is read

    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadConfiguration([f"{path}: is larger than {_MAX_BYTES // 2**20} MiB"])
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadConfiguration(
            [f"there is no data inventory {path}; see docs/howto/coverage.md for an example"]
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration([f"{path}: cannot be read ({error})"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise BadConfiguration([f"{path}: {where}{getattr(error, 'problem', None) or 'is no YAML'}"]) from None


def load_inventory(path: Path) -> list[SourceSpec]:
    return parse_inventory(read_inventory_document(path), str(path))


def choose_sources(sources: list[SourceSpec], names: list[str]) -> list[SourceSpec]:
    """Return the sources with these names, or all without names; raise BadInput for an unknown name."""
    existing = [source.name for source in sources]
    for name in names:
        if name not in existing:
            raise BadInput(
                f"there is no source {name!r}", field="source", hint=f"the sources are {', '.join(existing)}"
            )
    return [source for source in sources if not names or source.name in names]


@asynccontextmanager
async def open_scan(settings: Settings, store: CoverageStore, root: Path) -> AsyncIterator[ScanContext]:
    """Open the network for a reconciliation in this process."""
    from corral.wiring.http_reader import make_http_reader  # noqa: PLC0415 - it loads the fetching modules

    egress = make_egress(settings)
    try:
        yield ScanContext(store, make_http_reader(egress), root)
    finally:
        await egress.close()


def make_payload(settings: Settings, names: list[str], *, is_imported: bool) -> ReconcilePayload:
    """Return the payload of a run that reconciles the data inventory of the settings, with its current content."""
    path = settings.data_inventory
    document = read_inventory_document(path)
    choose_sources(parse_inventory(document, str(path)), names)
    registry = registry_key(settings.scraper_config) if is_imported else None
    return ReconcilePayload(to_plain(document), str(Path.cwd()), tuple(names), registry, str(_QUEUE_FILE))


def to_plain(value: Any) -> Any:
    """Return a YAML document as JSON values: YAML reads days as dates."""
    if isinstance(value, dict):
        return {str(name): to_plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [to_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
