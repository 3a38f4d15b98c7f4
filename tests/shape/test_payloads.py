"""Only the payload modules know the keys of a run's stored document; everything else reads typed payloads."""

import re

from tests.shape.files import ROOT, python_files, relative

_BY_KEY = re.compile(r"\bpayload(\(\))?(\[|\.get\()|\bpayload\.document\(\)(\[|\.get\()")
_FOLDERS = tuple(ROOT / folder for folder in ("src", "bench"))


def test_no_payload_is_read_by_key() -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in python_files()
        if any(path.is_relative_to(folder) for folder in _FOLDERS)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _BY_KEY.search(line)
    ]
    assert found == []
