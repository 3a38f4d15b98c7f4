"""Write labels, exports, manifest, lineage and quarantine of a build."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from typing import Any

from corral.datasets.context import BuildContext
from corral.datasets.exports.registry import open_writers
from corral.datasets.exports.writer import DraftFile, ExportWriter, write_whole
from corral.domain.datasets.config import fingerprint
from corral.domain.datasets.image import ImageRow, ImageState
from corral.domain.datasets.labels import label_files
from corral.domain.datasets.manifest import (
    file_name,
    hash_manifest,
    lineage_entry,
    manifest_entry,
    manifest_line,
)
from corral.domain.datasets.options import DuplicateAction


async def write_labels(context: BuildContext) -> list[str]:
    """Write the labels of the kept images; return the files."""
    entries = await _collect_entries(context)
    config, written = context.config, []
    for form in config.options.label_formats:
        files = label_files(form, config.name, list(config.categories), entries)
        for name, text in files.items():
            with write_whole(context.output / "labels" / name) as file:
                file.write(text.encode("utf-8", "replace"))
            written.append(f"labels/{name}")
    return written


async def write_exports(context: BuildContext) -> dict[str, Any]:
    """Write every export format and the manifest in one pass over the images."""
    context.output.mkdir(parents=True, exist_ok=True)
    writers = open_writers(context.config, context.output)
    manifest, lineage = (DraftFile(context.output / name) for name in ("manifest.jsonl", "lineage.jsonl"))
    quarantine = _Quarantine(context)
    lines: list[bytes] = []
    count = 0
    try:
        async for rows in context.store.pages():
            await asyncio.to_thread(_write_rows, context, rows, writers, lines)
            await asyncio.to_thread(quarantine.add, rows)
            lineage.file.writelines(manifest_line(lineage_entry(row)) for row in rows)
            count += len(rows)
            context.report(count, count)
        manifest.file.writelines(lines)
        files = [path for writer in writers for path in await asyncio.to_thread(writer.end)]
        manifest.end()
        lineage.end()
    except BaseException:
        for writer in writers:
            writer.abandon()
        for draft in (manifest, lineage):
            draft.abandon()
        raise
    digest = hash_manifest(lines)
    about = {"dataset": context.config.name, "images": len(lines), "manifest_sha256": digest}
    about |= {"options": fingerprint(_comparable_options(context)), "files": files}
    with write_whole(context.output / "manifest.json") as file:
        file.write(json.dumps(about, indent=1).encode() + b"\n")
    return {"images": len(lines), "manifest_sha256": digest, "files": files, "quarantined": quarantine.end()}


def _comparable_options(context: BuildContext) -> dict[str, Any]:
    """Return the options that change the dataset: not its folder, and not the speed of the build."""
    options = context.config.options.document()
    return {name: value for name, value in options.items() if name not in ("output_dir", "concurrency", "timeout_s")}


def _write_rows(
    context: BuildContext, rows: Sequence[ImageRow], writers: Sequence[ExportWriter], lines: list[bytes]
) -> None:
    for row in rows:
        if row.state != ImageState.KEPT:
            continue
        entry = manifest_entry(row)
        lines.append(manifest_line(entry))
        if writers:
            body = context.packs.read(row.location)
            for writer in writers:
                writer.add(entry, body)


async def _collect_entries(context: BuildContext) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    async for rows in context.store.pages():
        entries += [manifest_entry(row) for row in rows if row.state == ImageState.KEPT]
        context.report(len(entries), len(entries))
    return entries


class _Quarantine:
    """Writes invalid images to `quarantine/REASON/KEY`, and a list with the reasons."""

    def __init__(self, context: BuildContext) -> None:
        self._context = context
        self._folder = context.output / "quarantine"
        self._with_duplicates = context.config.options.deduplicate.action is DuplicateAction.QUARANTINE
        self._lines: list[bytes] = []
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, rows: Sequence[ImageRow]) -> None:
        for row in rows:
            is_duplicate = row.state == ImageState.DUPLICATE and self._with_duplicates
            if row.state != ImageState.QUARANTINED and not is_duplicate:
                continue
            reason = "duplicate" if is_duplicate else row.reason
            folder = self._folder / "".join(char if char.isalnum() else "_" for char in reason)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / file_name(row)).write_bytes(self._context.packs.read(row.location))
            entry = lineage_entry(row) | {"detail": row.facts.detail, "file": f"{folder.name}/{file_name(row)}"}
            self._lines.append(manifest_line(entry))

    def end(self) -> int:
        if self._lines:
            with write_whole(self._folder / "quarantine.jsonl") as file:
                file.writelines(self._lines)
        return len(self._lines)


async def clean_up(context: BuildContext) -> int:
    """Remove packs that no image refers to; return how many."""
    used: set[str] = set()
    async for rows in context.store.pages():
        used |= {row.pack for row in rows}
    return await asyncio.to_thread(lambda: context.packs.remove(context.packs.list_names() - used))
