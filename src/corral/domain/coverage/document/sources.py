"""Read where expected keys come from, and where collected data is stored."""

from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from corral.domain.coverage.document.section import Section, show
from corral.domain.coverage.document.values import read_values
from corral.domain.coverage.spec import (
    ExpectedKeys,
    FolderInventory,
    Inventory,
    ListedKeys,
    ProductKeys,
    RecordRows,
    S3Inventory,
    SitemapKeys,
    SourceKeys,
    SqlRows,
)
from corral.domain.coverage.template import RESERVED, Template, is_name

T = TypeVar("T")
NamedKeys = tuple[tuple[str, ...], ExpectedKeys]


def read_expected(section: Section) -> NamedKeys | None:
    """Read one generator of expected keys, with the names of its dimensions; None if a problem was reported."""
    return _read_one_of(_EXPECTED, section)


def _read_one_of(readers: Mapping[str, Callable[[Section], T | None]], section: Section) -> T | None:
    kinds = [name for name in section.names if name in readers]
    if len(kinds) != 1:
        section.report("", f"name exactly one of {', '.join(readers)}")
        return None
    result = readers[kinds[0]](section)
    section.finish()
    return result


def _read_dimensions(section: Section) -> NamedKeys | None:
    inner = section.section("dimensions")
    if inner is None or not inner.names:
        section.report("dimensions", "names no dimension")
        return None
    values = {name: read_values(inner, name) for name in inner.names}
    return check_names(inner, tuple(values)), ProductKeys(values)


def _read_keys(section: Section) -> NamedKeys | None:
    rows = section.sequence("keys")
    name = section.text("dimension", "key")
    if not rows:
        section.report("keys", "is empty")
        return None
    if not isinstance(rows[0], Mapping):
        single = [row for row in rows if isinstance(row, str | int) and not isinstance(row, bool)]
        if len(single) < len(rows):
            section.report("keys", "mixes values with mappings or other things")
        return check_names(section, (name,)), ListedKeys((name,), tuple((row,) for row in single))
    names = tuple(map(str, rows[0]))
    wrong = [
        index for index, row in enumerate(rows) if not isinstance(row, Mapping) or set(map(str, row)) != set(names)
    ]
    for index in wrong[:5]:
        section.report(f"keys[{index}]", f"does not have the names {', '.join(names)}")
    return check_names(section, names), ListedKeys(
        names, tuple(tuple(row[each] for each in names) for row in rows if not wrong)
    )


def _read_sitemap(section: Section) -> NamedKeys | None:
    inner = section.section("sitemap")
    assert inner is not None
    url, pattern = inner.text("url", is_required=True), read_template(inner, "pattern")
    inner.finish()
    if url and urlsplit(url).scheme not in {"http", "https"}:
        inner.report("url", f"{show(url)} is no http or https address")
    return None if pattern is None else (check_names(inner, pattern.names), SitemapKeys(url, pattern))


def _read_sql_keys(section: Section) -> NamedKeys | None:
    rows = read_sql(section)
    return None if rows is None else (rows.columns, rows)


def _read_record_keys(section: Section) -> NamedKeys | None:
    rows = read_records(section)
    return None if rows is None else (tuple(rows.fields), rows)


def _read_source_keys(section: Section) -> NamedKeys | None:
    """Read the name of the other source; `parse` fills in the names of its dimensions."""
    name = section.text("source", is_required=True)
    return ((), SourceKeys(name)) if name else None


def read_sql(parent: Section) -> SqlRows | None:
    section = parent.section("sql")
    assert section is not None
    url, query = section.text("url", is_required=True), section.text("query", is_required=True)
    columns = tuple(map(str, section.sequence("columns")))
    if not columns:
        section.report("columns", "is missing: name the dimensions in the order of the columns")
    section.finish()
    return SqlRows(url, query, check_names(section, columns, RESERVED - {"size", "modified"})) if columns else None


def read_records(parent: Section) -> RecordRows | None:
    section = parent.section("records")
    assert section is not None
    job, run = section.text("job"), section.text("run")
    fields = section.take("fields")
    section.finish()
    if bool(job) == bool(run):
        section.report("", "name either job or run")
        return None
    if not isinstance(fields, Mapping) or not fields or not all(isinstance(each, str) for each in fields.values()):
        section.report("fields", "expected a mapping of dimensions to fields of the records, such as game_id: id")
        return None
    names = check_names(section, tuple(map(str, fields)))
    return RecordRows(dict(zip(names, fields.values(), strict=True)), job or None, run or None)


_EXPECTED: dict[str, Callable[[Section], NamedKeys | None]] = {
    "dimensions": _read_dimensions,
    "keys": _read_keys,
    "sitemap": _read_sitemap,
    "sql": _read_sql_keys,
    "records": _read_record_keys,
    "source": _read_source_keys,
}


def read_inventory(section: Section) -> tuple[tuple[str, ...], Inventory] | None:
    """Read an inventory, with the names of the dimensions that it provides."""
    return _read_one_of(_INVENTORIES, section)


def _read_folder(parent: Section) -> tuple[tuple[str, ...], Inventory] | None:
    section = parent.section("folder")
    assert section is not None
    path, pattern = section.text("path", is_required=True), read_template(section, "pattern")
    section.finish()
    return None if pattern is None else (pattern.names, FolderInventory(path, pattern))


def _read_s3(parent: Section) -> tuple[tuple[str, ...], Inventory] | None:
    section = parent.section("s3")
    assert section is not None
    pattern = read_template(section, "pattern")
    endpoint = section.text("endpoint")
    if endpoint and urlsplit(endpoint).scheme not in {"http", "https"}:
        section.report("endpoint", f"{show(endpoint)} is no http or https address")
    secret_key = section.text("secret_key", "${AWS_SECRET_ACCESS_KEY}")
    if not secret_key.startswith("${"):
        section.report("secret_key", "name a variable of the environment, such as ${AWS_SECRET_ACCESS_KEY}")
    bucket, prefix = section.text("bucket", is_required=True), section.text("prefix")
    region, access_key = section.text("region", "us-east-1"), section.text("access_key", "${AWS_ACCESS_KEY_ID}")
    section.finish()
    if pattern is None:
        return None
    return pattern.names, S3Inventory(bucket, pattern, prefix, endpoint, region, access_key, secret_key)


def _read_record_inventory(parent: Section) -> tuple[tuple[str, ...], Inventory] | None:
    rows = read_records(parent)
    return None if rows is None else (tuple(rows.fields), rows)


def _read_sql_inventory(parent: Section) -> tuple[tuple[str, ...], Inventory] | None:
    rows = read_sql(parent)
    return None if rows is None else (rows.columns, rows)


_INVENTORIES: dict[str, Callable[[Section], tuple[tuple[str, ...], Inventory] | None]] = {
    "folder": _read_folder,
    "s3": _read_s3,
    "records": _read_record_inventory,
    "sql": _read_sql_inventory,
}


def read_template(section: Section, name: str) -> Template | None:
    text = section.text(name, is_required=True)
    template = Template(text)
    if text and (problem := template.find_problem()):
        section.report(name, problem)
        return None
    return template if text else None


def check_names(section: Section, names: tuple[str, ...], reserved: frozenset[str] = RESERVED) -> tuple[str, ...]:
    for name in names:
        if not is_name(name):
            section.report(name, "is no name of a dimension: use letters, digits and _")
        elif name in reserved:
            section.report(name, "is reserved; name the dimension otherwise")
    return names
