"""The thumbnails of a report, kept for the next one: a report after new images decodes only those."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from corral.datasets.context import BuildContext
from corral.datasets.exports.writer import write_whole
from corral.domain.datasets.image import ImageRow
from corral.domain.datasets.options import ImageRecipe, OutputFormat, ResizeMode

_SIZE = (96, 96)
_QUALITY = 70


class ThumbnailCache:
    """By the hash of the image. Only what a report used is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read(path)
        self._used: dict[str, bytes] = {}

    async def make(self, context: BuildContext, rows: Sequence[ImageRow]) -> list[bytes]:
        """Made by the decoder processes, because an original may be hostile; empty where that fails."""
        new = [row for row in rows if row.facts.out_sha256 not in self._known]
        most = context.config.options.max_pixels
        recipe = ImageRecipe(_SIZE, ResizeMode.CROP, OutputFormat.JPEG, _QUALITY, most)
        made = await context.pool.process([context.packs.read(row.place) for row in new], recipe) if new else []
        self._known |= {row.facts.out_sha256: each.output for row, each in zip(new, made, strict=True)}
        found = {row.facts.out_sha256: self._known[row.facts.out_sha256] for row in rows}
        self._used |= found
        return [found[row.facts.out_sha256] for row in rows]

    def save(self) -> None:
        with write_whole(self._path) as file:
            file.write(msgspec.msgpack.encode(self._used))


def _read(path: Path) -> dict[str, bytes]:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=dict[str, bytes])
    except (OSError, msgspec.DecodeError):
        return {}
