"""The options of a dataset build."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

MIB = 1024 * 1024


class ValidationLevel(StrEnum):
    FAST = "fast"  # size and type
    STANDARD = "standard"  # and a full decode, dimensions
    STRICT = "strict"  # and checks of the content


class DuplicateMode(StrEnum):
    OFF = "off"
    EXACT = "exact"
    NEAR = "near"


class DuplicateAction(StrEnum):
    KEEP = "keep"  # keep one image of each group, leave the others out
    REPORT = "report"  # keep all, list the duplicates
    QUARANTINE = "quarantine"  # keep one, put the others into the quarantine folder


class LabelFormat(StrEnum):
    TXT = "txt"
    JSON = "json"
    CSV = "csv"
    YAML = "yaml"
    COCO = "coco"
    YOLO = "yolo"


class ExportFormat(StrEnum):
    FOLDERS = "folders"
    ZIP = "zip"
    WEBDATASET = "webdataset"
    PARQUET = "parquet"
    HUGGINGFACE = "huggingface"


class ResizeMode(StrEnum):
    FIT = "fit"  # keep the proportions, within the size
    PAD = "pad"  # the same, with a border up to the size
    CROP = "crop"  # fill the size, and crop the rest
    STRETCH = "stretch"  # exactly the size


class OutputFormat(StrEnum):
    ORIGINAL = "original"
    JPEG = "jpeg"
    PNG = "png"
    WEBP = "webp"


class AnimationRule(StrEnum):
    FIRST = "first"  # use the first frame
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class DuplicateRule:
    mode: DuplicateMode = DuplicateMode.NEAR
    distance: int = 6
    action: DuplicateAction = DuplicateAction.KEEP


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    output_dir: str
    max_images: int | None = None
    max_retries: int = 3
    validation: ValidationLevel = ValidationLevel.STANDARD
    deduplicate: DuplicateRule = DuplicateRule()
    label_formats: tuple[LabelFormat, ...] = (LabelFormat.JSON,)
    export: tuple[ExportFormat, ...] = (ExportFormat.FOLDERS,)
    image_size: tuple[int, int] | None = None
    resize: ResizeMode = ResizeMode.FIT
    format: OutputFormat = OutputFormat.ORIGINAL
    quality: int = 90
    animated: AnimationRule = AnimationRule.FIRST
    min_width: int = 1
    min_height: int = 1
    max_bytes: int = 20 * MIB
    max_pixels: int = 64_000_000
    concurrency: int = 16
    shard_size: int = 1000
    respect_robots: bool = True
    respect_noai: bool = True
    timeout_s: float = 20.0

    @property
    def recipe(self) -> "ImageRecipe":
        decodes = (
            self.validation is not ValidationLevel.FAST
            or self.deduplicate.mode is DuplicateMode.NEAR
            or self.image_size is not None
            or self.format is not OutputFormat.ORIGINAL
        )
        return ImageRecipe(
            size=self.image_size,
            resize=self.resize,
            format=self.format,
            quality=self.quality,
            max_pixels=self.max_pixels,
            decodes=decodes,
            inspects=self.validation is ValidationLevel.STRICT,
        )

    def document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """How the bytes of an image are processed; images with another recipe are processed again."""

    size: tuple[int, int] | None
    resize: ResizeMode
    format: OutputFormat
    quality: int
    max_pixels: int
    decodes: bool = True  # False reads the header only
    inspects: bool = False  # measures sharpness, too

    @property
    def thoroughness(self) -> int:
        """Return 0 if only the header is read, 1 for a decoded image, 2 with all measurements."""
        return 2 if self.inspects else int(self.decodes)

    @property
    def changes_pixels(self) -> bool:
        return self.size is not None or self.format is not OutputFormat.ORIGINAL
