import functools
import tempfile
from pathlib import Path

from corral.store.open import bring_up


def migrate(path: Path) -> Path:
    """A database with the tables and nothing in them, as the first start makes it, without making it each time."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(_make())
    return path


@functools.cache
def _make() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corral.db"
        bring_up(path)
        assert not path.with_name("corral.db-wal").exists(), "all of it is in the file"
        return path.read_bytes()
