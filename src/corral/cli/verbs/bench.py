"""`corral bench`: the comparison with other systems, where the repository is there."""

import subprocess
import sys
from pathlib import Path

import typer

from corral.cli import exits


def bench() -> None:
    """Compare Corral with its peers, side by side. Needs a checkout of the repository.

    \b
    corral bench
    make bench        the same, and installs what it needs first
    """
    import corral

    root = Path(corral.__file__).parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        exits.complain(
            "the benchmark is not part of the installed package", "clone the repository and run `make bench`"
        )
        raise typer.Exit(exits.FAILED)
    raise typer.Exit(subprocess.call([sys.executable, "-m", "bench"], cwd=root))
