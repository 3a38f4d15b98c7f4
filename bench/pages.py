"""Pages of about 7 KB with 15 links each, served by nginx: for what fetches, the same for everybody."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.services import Service, ServiceUnavailable, accepts, free_port, stopped, wait_for

COUNT = 500
SITE = 5_000  # pages of the one that is crawled
_LINKS = 15
_WORDS = ("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "ledge")
_CONFIG = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; tcp_nodelay on; keepalive_requests 1000000; default_type text/html;
  types {{ text/html html; image/jpeg jpg; }}
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def title_of(number: int) -> str:
    return f"Page {number} of the benchmark"


def path_of(number: int, count: int = COUNT) -> str:
    return f"page-{number % count}.html"


def source_of(number: int, count: int = COUNT) -> str:
    dice = random.Random(number)
    targets = [path_of(dice.randrange(count), count) for _ in range(_LINKS)]
    links = "".join(f'<li><a href="/{target}">{dice.choice(_WORDS)}</a></li>' for target in targets)
    # Of words of its own: pages that all say the same are what crawlers keep away from.
    own = ["".join(dice.choices(_WORDS, k=2)) for _ in range(40)]
    text = "".join(f"<p>{' '.join(dice.choices([*own, *_WORDS], k=48))}.</p>" for _ in range(16))
    head = f"<head><meta charset=utf-8><title>{title_of(number)}</title></head>"
    body = f"<body><h1>Heading {number}</h1><ul>{links}</ul><main>{text}</main></body>"
    return f"<!doctype html><html>{head}{body}</html>"


@contextlib.contextmanager
def nginx(count: int = COUNT) -> Iterator[Service]:
    """The pages on a free port, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="bench-pages-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for number in range(count):
            (folder / path_of(number, count)).write_text(source_of(number, count))
        with serve_folder(folder) as service:
            yield service


@contextlib.contextmanager
def documentation() -> Iterator[Service]:
    """Python's documentation, as Debian installs it."""
    found = sorted(Path("/usr/share/doc").glob("python3-doc/html/index.html"))
    if not found:
        raise ServiceUnavailable("there is no documentation of Python here; scripts/services docs installs it")
    with serve_folder(found[-1].parent) as service:
        yield service


@contextlib.contextmanager
def serve_folder(root: Path) -> Iterator[Service]:
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if binary is None:
        raise ServiceUnavailable("nginx is not installed; scripts/services nginx installs it")
    folder, port = Path(tempfile.mkdtemp(prefix="bench-nginx-")), free_port()
    folder.chmod(0o755)
    config, log = folder / "nginx.conf", folder / "log"
    config.write_text(_CONFIG.format(folder=folder, port=port, root=root))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [binary, "-c", str(config)], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        wait_for(lambda: accepts(port), process, "nginx", log)
        yield Service("pages", f"http://127.0.0.1:{port}/", process.pid)
    finally:
        stopped(process)
        shutil.rmtree(folder, ignore_errors=True)
