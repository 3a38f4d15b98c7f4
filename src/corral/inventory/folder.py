"""The inventory of a local folder: one key for each file whose path matches the pattern."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.gap import Entry
from corral.domain.coverage.spec import ContentRules, FolderInventory
from corral.inventory.content import check_file

_HASHES = {32: "md5", 40: "sha1", 64: "sha256"}


def scan_folder(folder: FolderInventory, names: Sequence[str], rules: ContentRules, root: Path) -> Iterator[Entry]:
    base = root / folder.path
    if not base.is_dir():
        # A mount may be missing; an empty inventory would mean that everything is collected again.
        raise InventoryUnreadable(f"there is no folder {base}", hint="mount it, or create it before the first run")
    checksums = None if rules.manifest is None else read_manifest(root / rules.manifest)
    match = folder.pattern.regex.fullmatch
    prefix = len(str(base)) + 1
    for entry in _walk(str(base)):
        relative = entry.path[prefix:]
        found = match(relative)
        if found is None:
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue  # deleted since the folder was listed
        size = status.st_size
        problem = check_file(entry.path, size, rules.format)
        if problem is None and checksums is not None:
            problem = _check_sum(entry.path, relative, checksums)
        yield Entry(found.group(*names) if len(names) > 1 else (found[names[0]],), size, status.st_mtime, problem)


def _walk(base: str) -> Iterator[os.DirEntry[str]]:
    """Yield every file below a folder. Links to files count; links to folders may form loops and are not followed."""
    waiting = [base]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file():
                        yield entry
        except OSError as error:
            raise InventoryUnreadable(f"cannot list {folder}: {error.strerror}", hint="check its permissions") from None


def read_manifest(path: Path) -> dict[str, str]:
    """Return checksums by path, in the format of `sha256sum`, `sha1sum` and `md5sum`."""
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise InventoryUnreadable(f"cannot read the manifest {path}: {error.strerror}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        checksum, _, name = line.partition(" ")
        if not line.strip():
            continue
        if len(checksum) not in _HASHES or not name[1:]:
            raise InventoryUnreadable(f"line {number} of the manifest {path} is not a checksum and a path")
        found[name[1:].removeprefix("./")] = checksum.lower()
    return found


def _check_sum(path: str, relative: str, checksums: Mapping[str, str]) -> str | None:
    """Return what is wrong with the checksum, or None. A file that the manifest does not list is accepted."""
    expected = checksums.get(relative)
    if expected is None:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a million of them
            found = hashlib.file_digest(file, _HASHES[len(expected)]).hexdigest()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if found == expected else "checksum differs from the manifest"
