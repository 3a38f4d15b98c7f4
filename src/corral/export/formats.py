"""Export formats: their file names and content types."""

from enum import StrEnum
from pathlib import Path


class Format(StrEnum):
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"
    WARC = "warc"

    @property
    def content_type(self) -> str:
        return _CONTENT_TYPES[self]

    @property
    def suffix(self) -> str:
        return ".warc.gz" if self is Format.WARC else f".{self.value}"

    @property
    def needs_columns(self) -> bool:
        """Return whether all records share one set of columns, which must be known before the first row is written."""
        return self in (Format.CSV, Format.PARQUET, Format.XLSX)


_CONTENT_TYPES = {
    Format.JSON: "application/json",
    Format.JSONL: "application/x-ndjson",
    Format.CSV: "text/csv; charset=utf-8",
    Format.PARQUET: "application/vnd.apache.parquet",
    Format.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Format.WARC: "application/warc",
}
SUFFIXES = (*(each.suffix for each in Format), ".warc")


def format_of(path: Path) -> Format | None:
    """Return the format that the name of the file ends with; None if it is unknown."""
    name = path.name.lower()
    return next((each for each in Format if name.endswith((each.suffix, f".{each.value}"))), None)
