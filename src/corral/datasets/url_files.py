"""Lists of addresses in files: text, CSV, JSON and JSON lines."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from corral.domain.errors import BadConfiguration

MAX_BYTES = 1024 * 1024 * 1024


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file. Each has a `url`, and may have `category`, `caption` and `page_url`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadConfiguration([f"{path}: is larger than {MAX_BYTES // 2**20} MiB"])
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadConfiguration([f"there is no file {path}; sources name it"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration([f"{path}: cannot be read ({error})"]) from None
    return [entry for entry in parse_entries(text, path.suffix.lower(), str(path)) if entry.get("url")]


def parse_entries(text: str, suffix: str, where: str) -> list[dict[str, Any]]:
    if suffix == ".csv":
        return [dict(row) for row in csv.DictReader(io.StringIO(text))]
    if suffix in (".jsonl", ".ndjson"):
        return [_entry(_load(line, where)) for line in text.splitlines() if line.strip()]
    if suffix == ".json":
        document = _load(text, where)
        if not isinstance(document, list):
            raise BadConfiguration([f"{where}: must be a list of addresses"])
        return [_entry(item) for item in document]
    lines = (line.strip() for line in text.splitlines())
    return [{"url": line} for line in lines if line and not line.startswith("#")]


def _load(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadConfiguration([f"{where}: is no JSON ({error})"]) from None


def _entry(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"url": value}
    return value if isinstance(value, dict) else {}
