"""Run in a process of its own: exports runs in every format and tells how much memory each step needed at most."""

import asyncio
import json
import sys
from pathlib import Path

from corral.export.formats import Format
from corral.export.stream import Export, ExportProgress, chunks
from corral.store.open import open_store


async def main(url: str, small: str, large: str, kinds: list[str]) -> None:
    store = open_store(url)
    try:
        for run_id in (small, large):
            run = await store.runs.get(run_id)
            for kind in kinds:
                progress = ExportProgress()
                async for _ in chunks(store, Export(run, Format(kind)), progress):
                    pass
                told = {"kind": kind, "written": progress.written, "size": progress.size, "peak_mib": _peak_mib()}
                sys.stdout.write(json.dumps(told) + "\n")
    finally:
        await store.close()


def _peak_mib() -> float:
    """Of this process since it was started; what `getrusage` tells is that of whoever started it, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
