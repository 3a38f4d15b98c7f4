"""Read the configuration files of sites: `defaults.yaml`, and one file per site named after its domain."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.site_config.book import SiteFiles, SiteLayer
from corral.domain.site_config.order import find_cycle
from corral.domain.site_config.site_key import parse_exact_key
from corral.domain.site_config.values import find_problems, flatten
from corral.files.yaml_file import UnreadableYaml, read_marked_yaml

DEFAULTS = "defaults"
_SUFFIXES = (".yaml", ".yml")
_MAX_FILE_BYTES = 1024 * 1024
_MAX_FILES = 10_000

Marks = dict[str, int]  # line numbers by the path of the value


def list_files(folder: Path) -> list[Path]:
    """Return the configuration files, ordered by name; none if there is no such folder."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadConfiguration([f"{folder} cannot be read: {error.strerror}"]) from None


def fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return a value that changes when a file is edited, added or removed."""
    entries = []
    for path in list_files(folder):
        try:
            status = path.stat()
        except OSError:
            continue
        entries.append((path.name, status.st_mtime_ns, status.st_size))
    return tuple(entries)


def load_site_files(folder: Path) -> SiteFiles:
    """Read every file; BadConfiguration names all problems of all files, each with file and line."""
    paths = list_files(folder)
    if len(paths) > _MAX_FILES:
        raise BadConfiguration([f"{folder} has {len(paths)} files; at most {_MAX_FILES} are read"])
    loading = _Loading()
    for path in paths:
        document, marks, unreadable = _read(path)
        loading.problems += unreadable
        if not unreadable:
            loading.add(path, document, marks)
    problems = loading.problems or _check_cycle(loading.sites, loading.origins)
    if problems:
        raise BadConfiguration(problems)
    return SiteFiles(loading.defaults, loading.sites)


@dataclass(slots=True)
class _Loading:
    defaults: SiteLayer = field(default_factory=SiteLayer)
    sites: dict[str, SiteLayer] = field(default_factory=dict)
    origins: dict[str, Path] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, path: Path, document: dict[str, Any], marks: Marks) -> None:
        if path.stem == DEFAULTS:
            wrong = [_locate(path, marks, name, "is set per site") for name in ("site", "urls") if name in document]
            self.problems += wrong + _check(path, document, marks)
            self.defaults = _make_layer(path, document, marks)
            return
        try:
            site = parse_exact_key(str(document.pop("site", path.stem)))
        except BadInput as error:
            self.problems.append(_locate(path, marks, "site", f"{error.message}; {error.hint}"))
            return
        self.problems += _check(path, document, marks)
        if site in self.origins:
            self.problems.append(_locate(path, marks, "site", f"{site} is also configured in {self.origins[site]}"))
        self.origins[site] = path
        self.sites[site] = _make_layer(path, document, marks)


def _check_cycle(sites: Mapping[str, SiteLayer], origins: Mapping[str, Path]) -> list[str]:
    cycle = find_cycle({site: layer.values.get("depends_on", ()) for site, layer in sites.items()})
    return [f"{origins[cycle[0]]}: sites wait for each other: {' -> '.join(cycle)}"] if cycle else []


def _check(path: Path, document: Mapping[str, Any], marks: Marks) -> list[str]:
    problems = (problem for problem in find_problems(document) if problem.path != "site")
    return [_locate(path, marks, problem.path, f"{problem.path}: {problem.message}") for problem in problems]


def _make_layer(path: Path, document: Mapping[str, Any], marks: Marks) -> SiteLayer:
    if next(find_problems(document), None) is not None:
        return SiteLayer()
    values = flatten(document)
    return SiteLayer(values, {name: f"{path}:{marks.get(name, 1)}" for name in values})


def _locate(path: Path, marks: Marks, name: str, message: str) -> str:
    return f"{path}, line {marks.get(name, 1)}: {message}"


def _read(path: Path) -> tuple[dict[str, Any], Marks, list[str]]:
    """Return the document, the lines of its values, and the problems of the file."""
    try:
        document, marks, duplicates = read_marked_yaml(path, _MAX_FILE_BYTES)
    except FileNotFoundError as error:
        return {}, {}, [f"{path} cannot be read: {error.strerror}"]
    except UnreadableYaml as error:
        where = f"{path}, line {error.line}:" if error.line is not None else path
        return {}, {}, [f"{where} {error.problem}"]
    if document is None:
        return {}, {}, []
    if not isinstance(document, dict):
        return {}, {}, [f"{path}, line 1: must be a mapping of options"]
    problems = [f"{path}, line {line}: {name} is written twice" for name, line in duplicates]
    return {str(key): value for key, value in document.items()}, marks, problems
