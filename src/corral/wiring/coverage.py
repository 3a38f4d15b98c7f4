"""Read the data inventory, and reconcile it in this process or in a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from corral.domain.coverage.document.parse import parse_inventory
from corral.domain.coverage.spec import SourceSpec
from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.ports.coverage import CoverageStore
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.files.yaml_file import read_yaml, to_plain
from corral.inventory.scan import ScanContext
from corral.settings import Settings
from corral.wiring.probe import make_egress
from corral.wiring.scrapers import registry_key

_QUEUE_FILE = Path("inventory/gaps.json")
_MAX_BYTES = 16 * 1024 * 1024


def read_inventory_document(path: Path) -> Any:
    """Return the document in a data inventory file; raise BadConfiguration if it cannot be read."""
    try:
        return read_yaml(path, _MAX_BYTES)
    except FileNotFoundError:
        raise BadConfiguration(
            [f"there is no data inventory {path}; see docs/howto/coverage.md for an example"]
        ) from None


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
