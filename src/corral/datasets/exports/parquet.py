"""Exports to a Parquet file with the images in it, as the `datasets` library reads them."""

import json
from pathlib import Path
from typing import Any

from corral.datasets.exports.writer import DraftFile, Entry

_ROWS = 500
_TEXTS = ("key", "category", "keyword", "caption", "url", "page_url", "sha256", "format")
_NUMBERS = ("width", "height", "bytes")


class ImageParquetWriter:
    def __init__(self, output: Path, name: str, categories: list[str]) -> None:
        import pyarrow as pa  # noqa: PLC0415 - large, and loaded only if a file is written
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._pa = pa
        self._name = f"{name}.parquet"
        self._numbers = {category: number for number, category in enumerate(categories)}
        image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        self._schema = pa.schema(
            [("image", image), ("label", pa.int64())]
            + [(name, pa.string()) for name in _TEXTS]
            + [(name, pa.int64()) for name in _NUMBERS]
        )
        self._schema = self._schema.with_metadata({"huggingface": json.dumps(_describe_features(categories))})
        self._draft = DraftFile(output / self._name)
        self._writer = pq.ParquetWriter(self._draft.file, self._schema, compression="none")
        self._rows: list[dict[str, Any]] = []

    def add(self, entry: Entry, body: bytes) -> None:
        row: dict[str, Any] = {name: entry[name] for name in (*_TEXTS, *_NUMBERS)}
        row |= {"image": {"bytes": body, "path": entry["file"]}, "label": self._numbers[entry["category"]]}
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._flush()

    def end(self) -> list[str]:
        self._flush()
        self._writer.close()
        self._draft.end()
        return [self._name]

    def abandon(self) -> None:
        self._draft.abandon()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []


def _describe_features(categories: list[str]) -> dict[str, Any]:
    """Return metadata for the `datasets` library: the first column has images, and the labels have names."""
    features: dict[str, Any] = {"image": {"_type": "Image"}, "label": {"names": categories, "_type": "ClassLabel"}}
    features |= {name: {"dtype": "string", "_type": "Value"} for name in _TEXTS}
    features |= {name: {"dtype": "int64", "_type": "Value"} for name in _NUMBERS}
    return {"info": {"features": features}}
