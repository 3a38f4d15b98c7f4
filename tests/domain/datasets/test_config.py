"""The configuration of a dataset: every option is read, and every problem is named at once."""

from collections.abc import Sequence
from typing import Any

import pytest

from corral.domain.datasets.config import parse_config
from corral.domain.datasets.options import (
    DuplicateAction,
    DuplicateMode,
    ExportFormat,
    LabelFormat,
    OutputFormat,
    ResizeMode,
    ValidationLevel,
)
from corral.domain.errors import BadConfiguration

MINIMAL: dict[str, Any] = {
    "dataset_name": "pets",
    "categories": {"cats": ["tabby cat", "siamese"], "dogs": ["beagle"]},
    "sources": [{"type": "urls", "urls": ["https://example.com/a.jpg"]}],
}


def with_options(**options: Any) -> dict[str, Any]:
    return {**MINIMAL, "options": options}


def problems_of(document: Any) -> Sequence[str]:
    with pytest.raises(BadConfiguration) as caught:
        parse_config(document, "pets.yaml")
    return caught.value.problems


def test_defaults() -> None:
    config = parse_config(MINIMAL, "pets.yaml")
    options = config.options
    assert (config.name, options.output_dir, options.validation) == ("pets", "datasets/pets", ValidationLevel.STANDARD)
    assert (options.deduplicate.mode, options.deduplicate.distance) == (DuplicateMode.NEAR, 6)
    assert (options.export, options.label_formats) == ((ExportFormat.FOLDERS,), (LabelFormat.JSON,))
    assert (options.image_size, options.format) == (None, OutputFormat.ORIGINAL)


def test_every_option_is_read() -> None:
    options = parse_config(
        with_options(
            max_images=10,
            max_retries=0,
            validation="strict",
            deduplicate={"mode": "exact", "distance": 3, "action": "quarantine"},
            label_formats=["coco", "yolo"],
            export="zip",
            image_size=[256, 128],
            resize="crop",
            quality=50,
            min_width=10,
            respect_robots=False,
            respect_noai=False,
        ),
        "pets.yaml",
    ).options
    assert (options.max_images, options.max_retries, options.validation) == (10, 0, ValidationLevel.STRICT)
    assert options.deduplicate.action is DuplicateAction.QUARANTINE
    assert (options.label_formats, options.export) == ((LabelFormat.COCO, LabelFormat.YOLO), (ExportFormat.ZIP,))
    assert (options.image_size, options.resize, options.format) == ((256, 128), ResizeMode.CROP, OutputFormat.JPEG)
    assert (options.respect_robots, options.respect_noai, options.quality, options.min_width) == (False, False, 50, 10)


def test_a_bare_off_of_yaml_switches_deduplication_off() -> None:
    assert parse_config(with_options(deduplicate=False), "x").options.deduplicate.mode is DuplicateMode.OFF


def test_all_problems_are_named_at_once() -> None:
    found = problems_of(
        {
            "dataset_name": "a/b",
            "categories": {"cats": "tabby"},
            "sources": [{"type": "ftp"}, {"type": "urls"}, {"type": "urls", "urls": ["nonsense"]}],
            "options": {"max_image": 5, "quality": 101, "validation": "very", "export": ["tape"], "image_size": [1]},
            "extra": 1,
        }
    )
    text = "\n".join(found)
    for said in (
        "pets.yaml: extra is unknown",
        "pets.yaml: dataset_name 'a/b' is no name",
        "categories.cats has to be a list of keywords",
        "sources[0].type is 'ftp'",
        "sources[1].urls is missing",
        "sources[2].urls has 'nonsense'",
        "options.max_image is unknown; did you mean max_images?",
        "options.quality has to be a whole number from 1 to 100",
        "options.validation is 'very'; it has to be one of fast, standard, strict",
        "options.export has 'tape'",
        "options.image_size has to be one number or [width, height]",
    ):
        assert said in text, text


@pytest.mark.parametrize(
    "source, said",
    [
        ({"type": "search", "url": "https://example.com/?q=x"}, "needs {keyword}"),
        ({"type": "search", "url": "https://example.com/?q={keyword}", "pages": 3}, "needs {page}"),
        ({"type": "search", "url": "https://example.com/?q={keyword}", "items": "$.["}, "items"),
        ({"type": "command"}, "command is missing"),
        ({"type": "python", "function": "nothing"}, "has to be module:function"),
        ({"type": "pages", "urls": ["https://example.com"], "category": "cows"}, "the categories are cats, dogs"),
        ({"urls": ["https://example.com"]}, "type is missing"),
        ("https://example.com", "is no mapping"),
    ],
)
def test_a_source_is_checked(source: Any, said: str) -> None:
    assert said in "\n".join(problems_of({**MINIMAL, "sources": [source]}))


def test_a_document_that_is_no_mapping() -> None:
    assert problems_of(["pets"]) == ("pets.yaml: is no mapping; it needs dataset_name, categories, sources",)


def test_keywords_choose_the_category() -> None:
    config = parse_config(MINIMAL, "pets.yaml")
    assert config.category_of("A Beagle, asleep") == ("dogs", "beagle")
    assert config.category_of("https://example.com/tabby-cat_1.jpg") == ("cats", "tabby cat")
    assert config.category_of("a tabby  cat") == ("cats", "tabby cat")
    assert config.category_of("dogs at sea") == ("dogs", "dogs")
    assert config.category_of("a horse") is None
