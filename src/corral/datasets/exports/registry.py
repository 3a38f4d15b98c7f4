"""The export formats."""

from pathlib import Path

from corral.datasets.exports.archives import ShardWriter, ZipWriter
from corral.datasets.exports.folders import FolderWriter, ImageFolderWriter
from corral.datasets.exports.parquet import ImageParquetWriter
from corral.datasets.exports.writer import ExportWriter
from corral.datasets.exports.yolo import YoloWriter
from corral.domain.datasets.config import DatasetConfig
from corral.domain.datasets.options import ExportFormat, LabelFormat


def open_writers(config: DatasetConfig, output: Path) -> list[ExportWriter]:
    """Return the writers, folders first, because other formats link their files. YOLO labels are folders, too."""
    wanted = config.options.export
    first = [ExportFormat.FOLDERS] if ExportFormat.FOLDERS in wanted else []
    writers = [_open_writer(form, config, output) for form in dict.fromkeys([*first, *wanted])]
    return [*writers, YoloWriter(output)] if LabelFormat.YOLO in config.options.label_formats else writers


def _open_writer(form: ExportFormat, config: DatasetConfig, output: Path) -> ExportWriter:
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
