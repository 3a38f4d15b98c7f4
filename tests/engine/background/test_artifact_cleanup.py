import contextlib
import os
import stat
import time
from pathlib import Path

import pytest

from corral.domain.runs.artifact import UNNAMED_FOR_S, Artifact, ArtifactKind
from corral.engine.background.artifact_cleanup import BuildRetention, Tidying
from corral.files.artifacts import ArtifactFolder
from corral.files.build_folders import BuildFolders, hold_build
from corral.files.saved_files import FileFolder
from corral.store.open import open_store
from corral.store.store import Store
from tests.services.sqlite import migrate
from tests.store.builders import claim_new, fail, settle
from tests.store.queries.artifacts_helpers import leave


def age(folder: ArtifactFolder, artifact: Artifact, age_s: float) -> Artifact:
    then = time.time() - age_s
    os.utime(folder.path(artifact), (then, then))
    return artifact


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(f"sqlite:///{migrate(tmp_path_factory.mktemp('store') / 'corral.db')}")


async def refer_to(store: Store, *artifacts: Artifact) -> str:
    lease = await claim_new(store)
    await settle(store, leave(fail(lease), *artifacts))
    return lease.run_id


def test_files_are_private_and_named_by_us(tmp_path: Path) -> None:
    folder = ArtifactFolder(tmp_path / "artifacts")
    kept = folder.keep(ArtifactKind.HTML, b"<script>")
    path = folder.path(kept)
    assert folder.read(kept) == b"<script>"
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert len(kept.id) == 32
    assert folder.read(Artifact("f" * 32, ArtifactKind.HTML, 1)) is None


def test_a_link_in_the_folder_is_neither_followed_nor_removed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    folder = ArtifactFolder(tmp_path / "artifacts")
    folder.keep(ArtifactKind.HTML, b"x")
    link = Artifact("e" * 32, ArtifactKind.HTML, 6)
    folder.path(link).symlink_to(secret)
    assert folder.read(link) is None
    assert link.id not in {file.id for file in folder.list_files()}


def test_a_nearly_full_disk_keeps_its_last_room_for_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.files.private_file._RESERVED_BYTES", 2**62)
    folder = ArtifactFolder(tmp_path / "artifacts")
    with pytest.raises(OSError, match="nearly full"):
        folder.keep(ArtifactKind.HTML, b"x")
    assert folder.list_files() == []


async def test_files_that_no_run_names_are_swept_and_strangers_are_not(tmp_path: Path, store: Store) -> None:
    root = tmp_path / "artifacts"
    folder = ArtifactFolder(root)
    kept, fresh, orphan = (folder.keep(ArtifactKind.SCREENSHOT, b"png") for _ in range(3))
    await refer_to(store, age(folder, kept, 10 * UNNAMED_FOR_S))
    age(folder, orphan, UNNAMED_FOR_S + 60)
    (root / "notes.txt").write_text("somebody's")
    await Tidying(store, folder, 1000, FileFolder(tmp_path / "files")).tidy()
    assert names(root) == {kept.file_name, fresh.file_name, "notes.txt"}
    await store.close()


async def test_beyond_its_room_the_oldest_are_forgotten_rows_and_files(tmp_path: Path, store: Store) -> None:
    folder = ArtifactFolder(tmp_path / "artifacts")
    made = [age(folder, folder.keep(ArtifactKind.HTML, b"x" * 100), 100 - number) for number in range(10)]
    run_id = await refer_to(store, *made)
    await Tidying(store, folder, 550, FileFolder(tmp_path / "files")).tidy()
    left = {each.artifact.id for each in await store.artifacts.of_run(run_id)}
    assert left == {each.id for each in made[6:]}
    assert {file.id for file in folder.list_files()} == left
    await store.close()


async def test_a_folder_that_is_not_there_is_tidy(tmp_path: Path, store: Store) -> None:
    await Tidying(store, ArtifactFolder(tmp_path / "nowhere"), 10, FileFolder(tmp_path / "none")).tidy()
    await store.close()


async def test_saved_files_go_with_the_run_that_saved_them(tmp_path: Path, store: Store) -> None:
    files = FileFolder(tmp_path / "files")
    lease = await claim_new(store)
    saved = files.save(lease.run_id, "a.pdf", b"%PDF")
    again = files.save(lease.run_id, "a.pdf", b"%PDF")
    assert saved == again
    forgotten = files.save("0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b", "../../b c.pdf", b"%PDF")
    assert Path(forgotten.path).name.endswith("-_.._b_c.pdf")
    await Tidying(store, ArtifactFolder(tmp_path / "artifacts"), 10, files).tidy()
    assert Path(saved.path).read_bytes() == b"%PDF"
    assert not Path(forgotten.path).exists()
    assert files.runs() == [lease.run_id]
    await store.close()


@pytest.mark.parametrize(
    "what, age_days, max_age_days, is_left",
    [
        ("forgotten", 8, 7, False),
        ("forgotten", 6, 7, True),
        ("forgotten", 8, None, True),
        ("held", 8, 7, True),
        ("known", 8, 7, True),
    ],
)
async def test_packs_go_after_the_rows_of_their_build(
    tmp_path: Path, what: str, age_days: int, max_age_days: float | None, is_left: bool
) -> None:
    store, root, build = open_store("sqlite://"), tmp_path / "datasets", "a" * 24
    folder = root / build
    with hold_build(folder):
        (folder / "packs").mkdir()
        (folder / "packs" / "p.pack").write_bytes(b"x")
    (root / "notes").mkdir()
    for path in (folder / "packs", folder):
        os.utime(path, (time.time() - age_days * 86400,) * 2)
    if what == "known":
        await store.datasets.open_build(build, "pets", "run")
    kept = BuildRetention(BuildFolders(root), max_age_days)
    tidying = Tidying(store, ArtifactFolder(tmp_path / "artifacts"), 10, FileFolder(tmp_path / "files"), kept)
    with hold_build(folder) if what == "held" else contextlib.nullcontext():
        await tidying.tidy()
    assert (folder / "packs" / "p.pack").exists() is is_left
    assert (root / "notes").is_dir()
    await store.close()
