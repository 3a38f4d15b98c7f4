"""Who is alive in a data folder, told by the kernel and by nobody else."""

import subprocess
import sys
from pathlib import Path

from corral.domain.ids import Owner
from corral.domain.runs.run import RunState
from corral.runtime.node_locks import Presence
from corral.settings import Settings
from corral.wiring.roles import open_client
from tests.engine.builders import drill, put

ENTER = (
    "import sys, time; from pathlib import Path; from corral.runtime.node_locks import Presence;"
    "Presence(Path(sys.argv[1])).enter('other'); print('in', flush=True); time.sleep(60)"
)


def test_only_those_who_died_are_gone(tmp_path: Path) -> None:
    presence = Presence(tmp_path / "nodes")
    assert presence.find_gone() == []
    presence.enter(Owner("me"))
    command = [sys.executable, "-c", ENTER, str(tmp_path / "nodes")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        assert Presence(tmp_path / "nodes").find_gone() == []
        other.kill()
    assert Presence(tmp_path / "nodes").find_gone() == ["other"]
    presence.forget(Owner("other"))
    presence.leave(Owner("me"))
    assert list((tmp_path / "nodes").iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a file")
    presence = Presence(tmp_path / "nodes")
    presence.enter(Owner("me"))
    assert presence.find_gone() == []
    presence.leave(Owner("me"))


async def test_what_the_dead_held_is_to_be_had_at_once_and_what_the_living_hold_is_not(settings: Settings) -> None:
    async with open_client(settings) as app:
        dead, alive = await put(app, drill(), drill())
        await app.store.runs.claim_one(dead, Owner("dead"), 60)
        await app.store.runs.claim_one(alive, Owner("alive"), 60)
    (settings.data_dir / "nodes").mkdir()
    (settings.data_dir / "nodes" / "dead.node").touch()
    living = Presence(settings.data_dir / "nodes")
    living.enter(Owner("alive"))
    async with open_client(settings) as app:
        assert [(await app.store.runs.get(each)).state for each in (dead, alive)] == [RunState.QUEUED, RunState.RUNNING]
    assert [path.name for path in (settings.data_dir / "nodes").iterdir()] == ["alive.node"]
    living.leave(Owner("alive"))
