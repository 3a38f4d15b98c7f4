"""Add a record to a profile by its requested fields."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from corral.domain.fields.spec import FieldSpec
from corral.domain.quality.profile import ProfileBuilder


def add_record(
    builder: ProfileBuilder, record: Mapping[str, Any], specs: Sequence[FieldSpec], of_crawl: Collection[str] = ()
) -> None:
    """Add a record. `of_crawl` are the fields that every record of a crawl has, whatever own code returns."""
    required = [spec.name for spec in specs if not spec.optional]
    optional = [spec.name for spec in specs if spec.optional and spec.code is None]
    if all(spec.code is None for spec in specs):
        builder.add(record, required, optional)
        return
    requested = {*required, *optional}
    own = {name: value for name, value in record.items() if name in requested or name not in of_crawl}
    builder.add_open(own, required, optional)
