"""The registry of scrapers: exact names, scripts inside one root. It is built once and then does not change."""

import grp
import os
import pwd
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from corral.domain.errors import BadConfiguration, ScraperNotFound, ScriptNotRunnable
from corral.domain.scripts.scraper import SCRAPER_NAME, ScraperSpec, parse_scrapers
from corral.files.yaml_file import read_yaml

# In the order in which they are searched.
FOLDERS = ("scripts/etl", "scripts/scrapers", "scripts")
_PYTHON = (".py",)
_NODE = (".js", ".mjs", ".cjs")
_SHELL = (".sh",)
# If two files in a folder have one name, the first of these suffixes wins.
_SUFFIXES = (*_PYTHON, *_NODE, *_SHELL, "")
_MAX_CONFIG_BYTES = 8 * 1024 * 1024


class ScraperRegistry:
    """Maps a name to a script. A file that appears later is not found: load the registry again."""

    def __init__(self, root: Path, configured: Mapping[str, ScraperSpec], unused: tuple[str, ...] = ()) -> None:
        self._root = root
        self._scrapers: dict[str, ScraperSpec] = {}
        self._paths: dict[str, Path] = {}
        in_folders = dict(_list_folders(root))
        for name in sorted({*configured, *in_folders}):
            spec = configured.get(name) or ScraperSpec(name)
            self._scrapers[name] = replace(spec, cwd=str(root))
            if spec.script:
                self._paths[name] = root / spec.script
            elif name in in_folders:
                self._paths[name] = in_folders[name]
        self.unused = (*unused, *(f"scrapers.{name}.{key}" for name, spec in configured.items() for key in spec.unused))

    @classmethod
    def load(cls, config_file: Path | str | None, root: Path | str) -> Self:
        """Read the configuration and the folders below the root; BadConfiguration names every problem.

        A configuration file that does not exist means that only the folders are searched.
        """
        folder = Path(root).resolve()
        document = parse_scrapers(_read_config(Path(config_file)) if config_file else None)
        if document.problems:
            raise BadConfiguration([f"{config_file}: {problem}" for problem in document.problems])
        return cls(folder, document.scrapers, document.unused)

    @property
    def root(self) -> Path:
        return self._root

    def names(self) -> tuple[str, ...]:
        return tuple(self._scrapers)

    def describe(self, name: str) -> ScraperSpec:
        """Return the configuration of a scraper in `names`, without its command."""
        return self._scrapers[name]

    def find(self, name: str) -> ScraperSpec:
        """Return the scraper with the command that starts its script.

        Raise ScraperNotFound with the paths that were searched, or ScriptNotRunnable if the script is refused.
        """
        spec = self._scrapers.get(name) if SCRAPER_NAME.fullmatch(name) else None
        if spec is None:
            raise ScraperNotFound(name, _candidate_paths(name) if SCRAPER_NAME.fullmatch(name) else FOLDERS)
        path = self._paths.get(name)
        if path is None or not path.exists():
            raise ScraperNotFound(name, (spec.script,) if spec.script else _candidate_paths(name), is_configured=True)
        script = self._check(name, path)
        return replace(spec, command=choose_command(script))

    def _check(self, name: str, path: Path) -> Path:
        """Return the resolved path. Check it here: the file may have changed since the registry was built."""
        resolved = path.resolve()
        if not resolved.is_relative_to(self._root):
            raise ScriptNotRunnable(f"the script of {name} lies outside of {self._root}", field="script")
        status = resolved.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ScriptNotRunnable(f"the script of {name} is no regular file: {resolved}", field="script")
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_private_group(status)):
            raise ScriptNotRunnable(
                f"the script of {name} can be changed by other users: {resolved}",
                field="script",
                hint=f"chmod go-w {resolved}",
            )
        return resolved


def _is_private_group(status: os.stat_result) -> bool:
    """Return whether the group of a file has its owner as the only member, as on many systems."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return owner.pw_gid == status.st_gid and set(group.gr_mem) <= {owner.pw_name}


def choose_command(script: Path) -> tuple[str, ...]:
    """Return the command that starts a script: the interpreter for its suffix, or the script itself."""
    path = str(script)
    if script.suffix in _PYTHON:
        return (find_python(), path)
    if os.access(script, os.X_OK):
        return (path,)
    program = "node" if script.suffix in _NODE else "sh" if script.suffix in _SHELL else None
    interpreter = None if program is None else shutil.which(program)
    if interpreter is None:
        why = "is not executable" if program is None else f"needs {program}, which is not installed"
        raise ScriptNotRunnable(f"{path} {why}", field="script", hint=f"chmod u+x {path}")
    return (interpreter, path)


def find_python() -> str:
    """Return the Python of the activated virtual environment, else the one that runs Corral."""
    active = Path(os.environ.get("VIRTUAL_ENV") or "/nonexistent") / "bin/python"
    return str(active) if active.exists() else sys.executable


def _candidate_paths(name: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for folder in FOLDERS)


def _list_folders(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield every script of the folders by its name; the first folder wins."""
    seen: set[str] = set()
    for folder in FOLDERS:
        try:
            files = [path for path in (root / folder).iterdir() if path.is_file() and _is_script(path)]
        except OSError:
            continue
        for path in sorted(files, key=lambda file: _SUFFIXES.index(file.suffix)):
            if path.stem not in seen and SCRAPER_NAME.fullmatch(path.stem):
                seen.add(path.stem)
                yield path.stem, path


def _is_script(path: Path) -> bool:
    return path.suffix in _SUFFIXES and (bool(path.suffix) or os.access(path, os.X_OK))


def _read_config(path: Path) -> Any:
    try:
        return read_yaml(path, _MAX_CONFIG_BYTES)
    except FileNotFoundError:
        return None
