"""Where and on what a benchmark ran."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import sqlite3
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER_PACKAGES = (
    *("celery", "redis", "dbos", "procrastinate", "psycopg"),
    *("wreq", "aiohttp", "httpx", "scrapy", "crawlee", "playwright"),
)


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def commit() -> str:
    """The short hash, marked when tracked files differ from it."""
    short = _git("rev-parse", "--short", "HEAD")
    if not short:
        return "no commit"
    return f"{short} (dirty)" if _git("status", "--porcelain", "--untracked-files=no") else short


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def sqlite_version() -> str:
    """The SQLite that `pysqlite3` carries, or else the interpreter's."""
    try:
        from pysqlite3 import dbapi2  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return f"{sqlite3.sqlite_version} (stdlib)"
    return f"{dbapi2.sqlite_version} (pysqlite3)"


def _versions() -> str:
    found = []
    for package in PEER_PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def facts() -> dict[str, str]:
    """What is printed under every table and saved with it."""
    return {
        "Commit": commit(),
        "Date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "CPU": f"{_cpu_model()}, {os.cpu_count()} cores",
        "Memory": f"{_memory_gb():.0f} GB",
        "Load at the end": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "Python": platform.python_version(),
        "SQLite": sqlite_version(),
        "Kernel": platform.release(),
        "Peers": _versions(),
    }
