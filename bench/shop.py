"""The demo shop, whose pages a script fills from a JSON API, in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.services import Service, accepts, free_port, stopped, wait_for


@contextlib.contextmanager
def demo_shop() -> Iterator[Service]:
    """With the quickest server there is for it: it shares two cores with what is measured."""
    port = free_port()
    site = ["corral.demo.site:create_site", "--factory", "--http", "httptools", "--loop", "uvloop"]
    command = [sys.executable, "-m", "uvicorn", *site, "--port", str(port), "--log-level", "critical"]
    with tempfile.TemporaryDirectory(prefix="bench-shop-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            wait_for(lambda: accepts(port), process, "the demo shop", log)
            yield Service("shop", f"http://127.0.0.1:{port}", process.pid)
        finally:
            stopped(process)
