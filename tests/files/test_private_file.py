"""A private file appears whole or not at all, and leaves room on the disk."""

from pathlib import Path

import pytest

from corral.files.private_file import DRAFTS, check_room, replace_private


def test_a_file_is_replaced_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with replace_private(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
        assert len(list(tmp_path.glob(DRAFTS))) == 1
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_after_an_error_the_old_file_is_unchanged_and_no_draft_remains(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def write_half() -> None:
        with replace_private(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    check_room(tmp_path)
    with pytest.raises(OSError, match="the disk is nearly full"):
        check_room(tmp_path, 2**62)
