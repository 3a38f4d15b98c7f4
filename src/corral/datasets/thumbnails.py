"""The thumbnails of a report, stored for the next one, which then decodes only new images."""

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
    """Thumbnails by the hash of the image. `save` stores only those that this report used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached = _read(path)
        self._used: dict[str, bytes] = {}

    async def make(self, context: BuildContext, rows: Sequence[ImageRow]) -> list[bytes]:
        """Return a thumbnail of each image, empty if that fails. Decoder processes make it: images may be hostile."""
        new = [row for row in rows if row.facts.out_sha256 not in self._cached]
        max_pixels = context.config.options.max_pixels
        recipe = ImageRecipe(_SIZE, ResizeMode.CROP, OutputFormat.JPEG, _QUALITY, max_pixels)
        processed = await context.pool.process([context.packs.read(row.location) for row in new], recipe) if new else []
        self._cached |= {row.facts.out_sha256: image.output for row, image in zip(new, processed, strict=True)}
        thumbnails = {row.facts.out_sha256: self._cached[row.facts.out_sha256] for row in rows}
        self._used |= thumbnails
        return [thumbnails[row.facts.out_sha256] for row in rows]

    def save(self) -> None:
        with write_whole(self._path) as file:
            file.write(msgspec.msgpack.encode(self._used))


def _read(path: Path) -> dict[str, bytes]:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=dict[str, bytes])
    except (OSError, msgspec.DecodeError):
        return {}
