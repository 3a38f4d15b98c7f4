"""The data inventory as values: for each source the expected keys, where they are stored, and how gaps are filled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from corral.domain.coverage.condition import DEFAULT_PRIORITIES, FreshnessRule, PriorityRule
from corral.domain.coverage.season import USUAL_SEASONS, SeasonCalendar
from corral.domain.coverage.template import Template
from corral.domain.coverage.values import ValueSet


class ContentFormat(StrEnum):
    ANY = "any"
    JSON = "json"
    JSONL = "jsonl"
    GZIP = "gzip"
    ZIP = "zip"
    PARQUET = "parquet"
    PNG = "png"
    JPEG = "jpeg"
    PDF = "pdf"


# -- expected keys ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProductKeys:
    """Every combination of the values of the dimensions."""

    dimensions: Mapping[str, ValueSet]


@dataclass(frozen=True, slots=True)
class ListedKeys:
    """Keys listed one by one, each with its values."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]


@dataclass(frozen=True, slots=True)
class SitemapKeys:
    url: str
    pattern: Template  # of a URL


@dataclass(frozen=True, slots=True)
class SqlRows:
    """Rows of a query; the columns are the dimensions. An inventory may also have `size`, `modified`, `checksum`."""

    url: str = field(repr=False)  # `${NAME}`: from the environment
    query: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordRows:
    """Records of a job or run of this installation; `fields` maps dimensions to fields of the records."""

    fields: Mapping[str, str]
    job_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """The expected keys of another source."""

    source: str


ExpectedKeys = ProductKeys | ListedKeys | SitemapKeys | SqlRows | RecordRows | SourceKeys


# -- inventories -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FolderInventory:
    path: str
    pattern: Template


@dataclass(frozen=True, slots=True)
class S3Inventory:
    bucket: str
    pattern: Template
    prefix: str = ""
    endpoint: str = ""
    region: str = "us-east-1"
    access_key: str = ""  # `${NAME}`: from the environment
    secret_key: str = field(default="", repr=False)


Inventory = FolderInventory | S3Inventory | RecordRows | SqlRows


# -- rules -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ContentRules:
    min_bytes: int = 1
    format: ContentFormat = ContentFormat.ANY
    fresh: tuple[FreshnessRule, ...] = ()
    manifest: str | None = None  # a file of checksums, as sha256sum writes it


@dataclass(frozen=True, slots=True)
class Batching:
    """Several keys in one task: they differ in dimension `of`, whose values are passed as the list `parameter`."""

    size: int = 1
    of: str = ""
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class AbsenceRules:
    confirmations: int = 3
    recheck_s: float = 90 * 86_400


@dataclass(frozen=True, slots=True)
class SourceSpec:
    name: str
    scraper: str
    names: tuple[str, ...]  # the dimensions, in the order of the values of a key
    key: Template
    expected: tuple[ExpectedKeys, ...]
    inventory: Inventory
    rules: ContentRules = ContentRules()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    batch: Batching = Batching()
    priorities: tuple[PriorityRule, ...] = DEFAULT_PRIORITIES
    absence: AbsenceRules = AbsenceRules()
    attempts: int = 3
    minutes: float = 5.0  # estimated for a task
    season: str = ""  # the dimension that is a season
    season_calendar: SeasonCalendar = USUAL_SEASONS
    date: str = ""  # the dimension that is a date
    date_format: str = "%Y-%m-%d"
