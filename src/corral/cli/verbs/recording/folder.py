"""A folder with recordings: one folder per page, with files that a person can read and commit."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from corral.cli.job_draft import load_recipe
from corral.domain.errors import BadInput
from corral.domain.fields.own_code import without_parser
from corral.domain.fields.spec import FieldSpec, describe_field
from corral.extract.recording import RecordedPage, parse_recorded_page

META, EXPECTED, RECIPE = "page.json", "expected.json", "recipe.yaml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIXES = {"html": "html", "json": "json", "xml": "xml", "rss": "xml", "atom": "xml", "text/plain": "txt"}


class UnreadableRecording(Exception):
    """A recording cannot be read; the message names the file and the problem."""


@dataclass(frozen=True, slots=True)
class Recording:
    folder: Path
    page: RecordedPage
    fields: tuple[FieldSpec, ...]
    expected: Any


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, `.`, `_` and `-`, at most 100"
        raise BadInput(f"{name[:80]!r} is not a name for a recording", field="name", hint=hint)
    return name


def name_of(url: str) -> str:
    """Derive the name of a recording from the address of its page."""
    parts = urlsplit(url)
    words = re.sub(
        r"[^A-Za-z0-9.-]+", "-", f"{parts.hostname or 'page'}{parts.path}{parts.query and '-' + parts.query}"
    )
    return words.strip("-.")[:80] or "page"


def write_recording(
    folder: Path,
    page: RecordedPage,
    fields: tuple[FieldSpec, ...],
    expected: Mapping[str, Any],
    code: Path | None = None,
) -> None:
    """Write the files of a recording; `page.json`, which makes the folder a recording, comes last.

    A file with own code is referenced, not copied: the recording tests that file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("body.*"):
            old.unlink()
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error.strerror}", field="dir") from None
    body = f"body.{_suffix(page)}"
    _write(folder / body, page.body)
    recipe: dict[str, Any] = {"fields": [describe_field(spec) for spec in without_parser(fields)]}
    if code is not None:
        recipe |= {"parse": os.path.relpath(code.absolute(), folder.absolute())}
        recipe = {name: value for name, value in recipe.items() if value}
    _write(folder / RECIPE, yaml.safe_dump(recipe, allow_unicode=True, sort_keys=False).encode())
    write_expected(folder, expected)
    _write(folder / META, _to_json({**page.document(), "body": body}))


def write_expected(folder: Path, expected: Mapping[str, Any]) -> None:
    _write(folder / EXPECTED, _to_json(expected))


def find_recordings(root: Path) -> list[Path]:
    """Return the folders of the recordings in a folder, which may be one itself."""
    if (root / META).exists():
        return [root]
    return sorted(path.parent for path in root.rglob(META))


def read_recording(folder: Path) -> Recording:
    meta = _read_json(folder / META)
    name = meta.get("body") if isinstance(meta, dict) else None
    if not isinstance(name, str) or Path(name).name != name:
        raise UnreadableRecording(f"{folder / META} names no body file")
    try:
        page = parse_recorded_page(meta, _read(folder / name))
        fields = load_recipe(folder / RECIPE).fields
    except BadInput as problem:
        raise UnreadableRecording(f"{folder}: {problem.message}") from None
    return Recording(folder, page, fields, _read_json(folder / EXPECTED))


def _suffix(page: RecordedPage) -> str:
    content_type = next((value for name, value in page.headers if name == "content-type"), "").lower()
    return next((suffix for word, suffix in _SUFFIXES.items() if word in content_type), "bin")


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace") + b"\n"


def _write(path: Path, content: bytes) -> None:
    """Replace the file at once: an interrupted command leaves the old one."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}", field="dir") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableRecording(f"{path} cannot be read: {error.strerror}") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise UnreadableRecording(f"{path} is no JSON: {error}") from None
