"""`corral bench`: the comparison with other systems; needs a checkout of the repository."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

import corral
from corral.cli import exits
from corral.cli.options import AsJson


def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these comparisons.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less work: a smoke test, not a result.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare Corral with its peers, side by side. Needs a checkout of the repository.

    \b
    corral bench
    corral bench crawl --json       a line for each comparison
    make bench        the same, and installs what it needs first
    """

    root = Path(corral.__file__).parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        exits.complain(
            "the benchmark is not part of the installed package", "clone the repository and run `make bench`"
        )
        raise typer.Exit(exits.FAILED)
    options = [*(["--quick"] if quick else []), *(["--json"] if as_json else [])]
    raise typer.Exit(subprocess.call([sys.executable, "-m", "bench", *(names or []), *options], cwd=root))
