"""The export formats."""

from pathlib import Path

from corral.datasets.exports.archives import ShardWriter, ZipWriter
from corral.datasets.exports.folders import FolderWriter, ImageFolderWriter
from corral.datasets.exports.parquet import ImageParquetWriter
from corral.datasets.exports.writer import ExportWriter
from corral.domain.datasets.config import DatasetConfig
from corral.domain.datasets.options import ExportFormat


def open_writer(form: ExportFormat, config: DatasetConfig, output: Path) -> ExportWriter:
    name = config.name.replace(" ", "_")
    categories = list(config.categories)
    match form:
        case ExportFormat.FOLDERS:
            return FolderWriter(output)
        case ExportFormat.ZIP:
            return ZipWriter(output, name)
        case ExportFormat.WEBDATASET:
            return ShardWriter(output, categories, config.options.shard_size)
        case ExportFormat.PARQUET:
            return ImageParquetWriter(output, name, categories)
        case ExportFormat.HUGGINGFACE:
            return ImageFolderWriter(output)
