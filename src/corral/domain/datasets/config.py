"""The configuration of a dataset build: a YAML or JSON document. Every problem is reported."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.datasets.fields import ConfigReader
from corral.domain.datasets.options import (
    AnimationRule,
    DatasetOptions,
    DuplicateAction,
    DuplicateMode,
    DuplicateRule,
    ExportFormat,
    LabelFormat,
    OutputFormat,
    ResizeMode,
    ValidationLevel,
)
from corral.domain.datasets.sources import ImageSource, read_source
from corral.domain.errors import BadConfiguration

MAX_DISTANCE = 15
MAX_CATEGORIES = 10_000
MAX_SIDE = 16_384
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}")
_KEYS = ("dataset_name", "categories", "sources", "options")


@dataclass(frozen=True, slots=True)
class DatasetConfig:
    name: str
    categories: dict[str, tuple[str, ...]]  # category: keywords
    sources: tuple[ImageSource, ...]
    options: DatasetOptions

    def category_of(self, text: str) -> tuple[str, str] | None:
        """Return the first category whose name or keyword is in the text, with the word that matched."""
        words = f" {_plain(text)} "
        for category, keywords in self.categories.items():
            for keyword in (*keywords, category):
                if f" {_plain(keyword)} " in words:
                    return category, keyword
        return None


def parse_config(document: Any, where: str) -> DatasetConfig:
    """Read the configuration; BadConfiguration lists every problem."""
    problems: list[str] = []
    if not isinstance(document, Mapping):
        raise BadConfiguration([f"{where}: is no mapping; it needs {', '.join(_KEYS[:3])}"])
    reader = ConfigReader(document, where, problems)
    reader.refuse_unknown(_KEYS)
    name = _read_name(reader)
    categories = _read_categories(reader)
    sources = _read_sources(reader, categories)
    options = _read_options(reader, name)
    if problems:
        raise BadConfiguration(problems)
    return DatasetConfig(name, categories, sources, options)


def fingerprint(value: Any) -> str:
    """Return a hash that is the same for equal JSON documents."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _read_name(reader: ConfigReader) -> str:
    name = reader.text("dataset_name", required=True)
    if name and not _NAME.fullmatch(name):
        reader.complain("dataset_name", f"{name!r} is no name; use letters, digits, spaces and . _ -, at most 100")
    return name


def _read_categories(reader: ConfigReader) -> dict[str, tuple[str, ...]]:
    listing = reader.document.get("categories")
    if not isinstance(listing, Mapping) or not listing:
        reader.complain("categories", "is missing; write a category with its keywords, such as cats: [tabby cat]")
        return {}
    if len(listing) > MAX_CATEGORIES:
        reader.complain("categories", f"has {len(listing)} entries; at most {MAX_CATEGORIES} are allowed")
    categories: dict[str, tuple[str, ...]] = {}
    for category, listed in listing.items():
        if not isinstance(category, str) or not _NAME.fullmatch(category) or category != category.strip():
            reader.complain(f"categories.{category}", "is no name of a category; use letters, digits, spaces and . _ -")
            continue
        keywords = [] if listed is None else listed
        if not isinstance(keywords, list) or not all(isinstance(each, str) and each.strip() for each in keywords):
            reader.complain(f"categories.{category}", "has to be a list of keywords")
            continue
        categories[category] = tuple(dict.fromkeys(keyword.strip() for keyword in keywords))
    return categories


def _read_sources(reader: ConfigReader, categories: Mapping[str, Any]) -> tuple[ImageSource, ...]:
    entries = reader.document.get("sources")
    if not isinstance(entries, list) or not entries:
        reader.complain("sources", "is missing; write a list such as [{type: pages, urls: [https://example.com]}]")
        return ()
    sources = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            reader.complain(f"sources[{index}]", "is no mapping; it needs a type")
            continue
        source = read_source(reader.inner(entry, f"sources[{index}]"), categories)
        if source is not None:
            sources.append(source)
    return tuple(sources)


_OPTION_KEYS = tuple(DatasetOptions.__dataclass_fields__)


def _read_options(reader: ConfigReader, name: str) -> DatasetOptions:
    document = reader.document.get("options")
    if document is None:
        document = {}
    if not isinstance(document, Mapping):
        reader.complain("options", "is no mapping")
        document = {}
    options = reader.inner(document, "options")
    options.refuse_unknown(_OPTION_KEYS)
    usual = DatasetOptions("")
    size = _read_size(options)
    return DatasetOptions(
        output_dir=options.text("output_dir") or f"datasets/{name}",
        max_images=options.number("max_images", None, 1, 100_000_000),
        max_retries=options.number("max_retries", usual.max_retries, 0, 10),
        validation=options.choice("validation", ValidationLevel, usual.validation),
        deduplicate=_read_duplicates(options),
        label_formats=options.choices("label_formats", LabelFormat, usual.label_formats),
        export=options.choices("export", ExportFormat, usual.export),
        image_size=size,
        resize=options.choice("resize", ResizeMode, usual.resize),
        format=options.choice("format", OutputFormat, OutputFormat.JPEG if size else OutputFormat.ORIGINAL),
        quality=options.number("quality", usual.quality, 1, 100),
        animated=options.choice("animated", AnimationRule, usual.animated),
        min_width=options.number("min_width", usual.min_width, 1, MAX_SIDE),
        min_height=options.number("min_height", usual.min_height, 1, MAX_SIDE),
        max_bytes=options.number("max_bytes", usual.max_bytes, 1024, 1024**3),
        max_pixels=options.number("max_pixels", usual.max_pixels, 1024, 500_000_000),
        concurrency=options.number("concurrency", usual.concurrency, 1, 256),
        shard_size=options.number("shard_size", usual.shard_size, 1, 1_000_000),
        respect_robots=options.flag("respect_robots", usual.respect_robots),
        respect_noai=options.flag("respect_noai", usual.respect_noai),
        timeout_s=float(options.number("timeout_s", int(usual.timeout_s), 1, 600)),
    )


def _read_size(options: ConfigReader) -> tuple[int, int] | None:
    size = options.document.get("image_size")
    if size is None:
        return None
    sides = size if isinstance(size, list) else [size, size]
    are_numbers = all(isinstance(side, int) and not isinstance(side, bool) for side in sides)
    if len(sides) != 2 or not are_numbers or not all(1 <= side <= MAX_SIDE for side in sides):
        options.complain("image_size", f"has to be one number or [width, height], from 1 to {MAX_SIDE}")
        return None
    return (sides[0], sides[1])


def _read_duplicates(options: ConfigReader) -> DuplicateRule:
    value, usual = options.document.get("deduplicate"), DuplicateRule()
    if value is None:
        return usual
    if value is False:  # YAML reads a bare `off` as this
        return DuplicateRule(DuplicateMode.OFF)
    if not isinstance(value, Mapping):
        return DuplicateRule(options.choice("deduplicate", DuplicateMode, usual.mode))
    rule = options.inner(value, "deduplicate")
    rule.refuse_unknown(("mode", "distance", "action"))
    mode = DuplicateMode.OFF if value.get("mode") is False else rule.choice("mode", DuplicateMode, usual.mode)
    return DuplicateRule(
        mode,
        rule.number("distance", usual.distance, 0, MAX_DISTANCE),
        rule.choice("action", DuplicateAction, usual.action),
    )
