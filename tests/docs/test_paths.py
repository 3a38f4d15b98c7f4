"""Every file that the documentation for maintainers names exists."""

import re

import pytest

from tests.shape.files import ROOT

_PATH = re.compile(r"`((?:[a-z_]+/)+[a-zA-Z_]+\.(?:py|md|yaml|toml)|(?:[a-z_]+/)+|[a-z_]+\.py)`")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_is_named_exists(page: str) -> None:
    named = set(_PATH.findall((ROOT / page).read_text()))
    assert named, "the pattern finds no path any more"
    bases = (ROOT, ROOT / "src/corral")
    missing = [path for path in sorted(named) if not any((base / path).exists() for base in bases)]
    assert not missing, f"{page} names files that do not exist: {missing}"
