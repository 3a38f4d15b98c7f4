"""Run a verb that serves until it is stopped."""

import sys
from collections.abc import Coroutine
from typing import Any, NoReturn

import typer

from corral.runtime.process import serve


def finish_serving(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a verb that serves until a stop is requested."""

    code = serve(work)
    sys.stdout.flush()
    raise typer.Exit(code)
