"""The manifest of a dataset: one line for each image, and a hash that is the same for the same inputs."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from corral.domain.datasets.image import ImageRow

_SUFFIXES = {"jpeg": ".jpg", "png": ".png", "webp": ".webp", "gif": ".gif", "bmp": ".bmp", "tiff": ".tif"}
_SUFFIXES |= {"avif": ".avif", "heif": ".heic"}


def file_name(row: ImageRow) -> str:
    return f"{row.key}{_SUFFIXES.get(row.facts.out_format or row.facts.format, '.bin')}"


def image_path(row: ImageRow) -> str:
    """Return the path of an image inside an export."""
    return f"{row.category}/{file_name(row)}"


def manifest_entry(row: ImageRow) -> dict[str, Any]:
    """Return everything that follows from the inputs. Runs and times belong to the lineage."""
    facts = row.facts
    return {
        "key": row.key,
        "file": image_path(row),
        "category": row.category,
        "keyword": row.keyword,
        "caption": row.caption,
        "url": row.url,
        "page_url": row.page_url,
        "source": row.source,
        "sha256": facts.out_sha256,
        "original_sha256": facts.sha256,
        "width": facts.out_width,
        "height": facts.out_height,
        "original_width": facts.width,
        "original_height": facts.height,
        "format": facts.out_format,
        "bytes": facts.out_size,
    }


def manifest_line(entry: dict[str, Any]) -> bytes:
    return (
        json.dumps(entry, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        + b"\n"
    )


def hash_manifest(lines: Iterable[bytes]) -> str:
    """Return the hash of the lines, which come in the order of their keys."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()


def lineage_entry(row: ImageRow) -> dict[str, Any]:
    """Return the origin of an image (page, source and the run that downloaded it) and its state."""
    entry: dict[str, Any] = {"key": row.key, "url": row.url, "page_url": row.page_url, "source": row.source}
    entry |= {"run_id": row.run_id, "state": row.state, "reason": row.reason}
    if row.duplicate_of:
        entry |= {"duplicate_of": row.duplicate_of, "distance": row.distance}
    return entry
