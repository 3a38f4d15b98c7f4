"""Scripts that misbehave end with a precise code, and nothing of them is left."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.scripts.limits import ScriptLimits
from corral.scripts.executor import ScriptExecutor
from corral.scripts.launcher import ScriptHost
from tests.scripts.builders import code_of, execute, processes_of, python_task, script_executor, script_task
from tests.waiting import block_until, until

LOW = ScriptLimits(memory_mib=256, processes=64, output_mib=4, records=1000, file_mib=8, cpu_s=1)
FORK_BOMB = "import os\nwhile True:\n    os.fork()"
ENDLESS = "while True: print('x' * 1000)"
ENDLESS_ERRORS = "import sys\nwhile True: sys.stderr.write('x' * 1000)"
IGNORES_TERM = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(600)"
)
DAEMON = (
    "import os, sys, time\n"
    "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(0)\n"
    "print('{\"a\": 1}')"
)
MANY = "import sys\nfor number in range(10**6): print('{\"n\": %d}' % number)"
HUGE_LINE = "import sys\nsys.stdout.write('{\"a\": \"' + 'x' * (2 * 2**20) + '\"}\\n')\nprint('{\"b\": 1}')"
ENDLESS_LINE = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
BROKEN = "print('{\"a\": 1}')\nprint('{broken')\nprint('just a line')"
PROTOCOL = "import os, json\ndef say(**m): os.write(3, (json.dumps(m) + '\\n').encode())\n"


@pytest.fixture
async def executor() -> AsyncIterator[ScriptExecutor]:
    async with script_executor() as opened:
        yield opened


@pytest.mark.parametrize(
    "code, expected",
    [
        pytest.param(FORK_BOMB, "limit:processes", id="fork bomb"),
        pytest.param(ENDLESS, "limit:output", id="endless stdout"),
        pytest.param(ENDLESS_LINE, "limit:output", id="endless line"),
        pytest.param(ENDLESS_ERRORS, "limit:output", id="endless stderr"),
        pytest.param("import time; time.sleep(600)", "timeout:script", id="never ends"),
        pytest.param(IGNORES_TERM, "timeout:script", id="ignores SIGTERM"),
        pytest.param("x = [bytearray(2**20) for _ in range(4096)]", "limit:memory", id="memory"),
        pytest.param("x = bytearray(2**40)", "limit:memory", id="memory that the kernel refuses"),
        pytest.param(MANY, "limit:records", id="a million results"),
        pytest.param("print('✅ success'); raise SystemExit(3)", "bad_response:exit", id="fakes success"),
        pytest.param("import os; os.kill(os.getpid(), 11)", "bad_response:signal", id="crashes"),
        pytest.param(PROTOCOL + "say(record={'a': 1})", "bad_response:protocol", id="no closing record"),
        pytest.param(
            PROTOCOL + "say(record={'a': 1}); say(done={'records': 2})", "bad_response:protocol", id="wrong count"
        ),
        pytest.param(PROTOCOL + "os.write(3, b'hello\\n')", "bad_response:protocol", id="no JSON in the protocol"),
        pytest.param(PROTOCOL + "os.write(3, b'x' * 2**21)", "bad_response:protocol", id="huge line in the protocol"),
        pytest.param(
            PROTOCOL + "say(done={'records': 0}); raise SystemExit(1)", "bad_response:exit", id="done and exit 1"
        ),
        pytest.param(PROTOCOL + "say(error={'message': 'x', 'code': 'blocked'})", "blocked:script", id="own error"),
        pytest.param("open('/tmp/corral-big', 'wb').write(b'x' * 2**24)", "limit:file", id="huge file"),
        pytest.param("while True: pass", "limit:cpu", id="processor time"),
    ],
)
async def test_a_script_that_misbehaves_fails_with_its_code(
    executor: ScriptExecutor, code: str, expected: str, tmp_path: Path
) -> None:
    code = code.replace("/tmp/corral-big", str(tmp_path / "big"))
    task = python_task(code, timeout_s=2 if "sleep" in code else 30, limits=LOW)
    outcome = await execute(executor, task)
    assert isinstance(outcome, Failed)
    assert code_of(outcome) == expected, outcome.message
    assert processes_of(task.run_id) == []


@pytest.mark.parametrize(
    "code, expected, records",
    [
        pytest.param(DAEMON, "bad_response:left_processes", [{"a": 1}], id="grandchildren"),
        pytest.param(HUGE_LINE, "limit:line", [{"b": 1}], id="huge line"),
        pytest.param(BROKEN, "bad_response:records", [{"a": 1}], id="broken JSON"),
    ],
)
async def test_what_is_missing_of_a_result_makes_it_partial(
    executor: ScriptExecutor, code: str, expected: str, records: list[object]
) -> None:
    task = python_task(code)
    outcome = await execute(executor, task)
    assert isinstance(outcome, Fetched)
    assert code_of(outcome) == expected
    assert list(outcome.records) == records
    assert processes_of(task.run_id) == []


async def test_a_script_that_deletes_its_folder_fails(executor: ScriptExecutor, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    task = python_task("import os, shutil; shutil.rmtree(os.getcwd()); print('{\"a\": 1}')", cwd=folder)
    assert code_of(await execute(executor, task)) == "bad_response:cwd_deleted"
    assert code_of(await execute(executor, python_task("", cwd=folder))) == "policy:cwd"


@pytest.mark.parametrize(
    "argv, expected",
    [
        (("/no/such/script",), "policy:script_missing"),
        (("no-such-program",), "policy:script_missing"),
        (("/etc/passwd",), "policy:script_not_runnable"),
    ],
)
async def test_what_cannot_be_started(executor: ScriptExecutor, argv: tuple[str, ...], expected: str) -> None:
    assert code_of(await execute(executor, script_task(*argv))) == expected


READS = """
import json, os
found = {}
for path in PATHS:
    try:
        found[path] = os.listdir(path) if os.path.isdir(path) else open(path, 'rb').read().decode('latin-1')
    except OSError as error:
        found[path] = type(error).__name__
environments = []
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        environments.append(open(f'/proc/{pid}/environ').read())
    except OSError:
        pass
print(json.dumps({'found': found, 'environ': dict(os.environ), 'environments': environments}))
"""


async def test_database_key_and_environment_of_corral_are_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "var"
    data.mkdir()
    (data / "corral.db").write_text("rows")
    (data / "vault.key").write_text("key")
    elsewhere = tmp_path / "elsewhere.db"
    elsewhere.write_text("rows")
    monkeypatch.setenv("APP_TOKEN", "corral-secret")
    monkeypatch.setenv("OTHER_SECRET", "corral-secret")
    paths = [str(path) for path in (data, data / "corral.db", data / "vault.key", elsewhere)]
    async with script_executor(hidden=(str(data), str(elsewhere))) as executor:
        outcome = await execute(executor, python_task(f"PATHS = {paths!r}\n{READS}", cwd=tmp_path))
    assert isinstance(outcome, Fetched), outcome
    [told] = outcome.records
    assert told["found"] == {paths[0]: [], paths[1]: "FileNotFoundError", paths[2]: "FileNotFoundError", paths[3]: ""}
    assert "corral-secret" not in json.dumps(told)
    assert not {name for name in told["environ"] if name.startswith(("APP_", "OTHER_"))}


async def test_a_script_in_the_data_folder_sees_nothing_else_of_it(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "corral.db").write_text("rows")
    script = tmp_path / "scripts/own.py"
    script.write_text("import os, json; print(json.dumps({'db': open('../corral.db').read(), 'own': os.listdir('.')}))")
    async with script_executor(hidden=(str(tmp_path),)) as executor:
        outcome = await execute(executor, script_task(sys.executable, str(script), cwd=tmp_path / "scripts"))
    assert isinstance(outcome, Fetched), outcome
    assert list(outcome.records) == [{"db": "", "own": ["own.py"]}]


async def test_the_isolation_cannot_be_undone(executor: ScriptExecutor, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    code = (
        "import ctypes, os, json\nlibc = ctypes.CDLL(None)\n"
        f"done = [libc.umount2({str(tmp_path).encode()!r}, 2), libc.unshare(0x20000)]\n"
        f"print(json.dumps({{'done': done, 'seen': os.listdir({str(tmp_path)!r}), 'pids': len([p for p in"
        " os.listdir('/proc') if p.isdigit()])}))"
    )
    async with script_executor(hidden=(str(tmp_path),)) as opened:
        outcome = await execute(opened, python_task(code))
    assert isinstance(outcome, Fetched), outcome
    [told] = outcome.records
    assert told == {"done": [-1, -1], "seen": [], "pids": 2}


async def test_a_script_that_is_cancelled_ends_with_everything_it_started(executor: ScriptExecutor) -> None:
    task = script_task("sh", "-c", "setsid sleep 600 & sleep 600 & wait")
    executing = asyncio.ensure_future(executor.execute(task, lambda _: None))
    await until(lambda: len(processes_of(task.run_id)) >= 3)
    executing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await executing
    assert processes_of(task.run_id) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_outlives_the_script_host(number: signal.Signals) -> None:
    host = ScriptHost()
    executor = ScriptExecutor(host)
    task = script_task("sh", "-c", "setsid sleep 600 & sleep 600 & wait")
    executing = asyncio.ensure_future(executor.execute(task, lambda _: None))
    await until(lambda: len(processes_of(task.run_id)) >= 3)
    assert host.pid is not None
    os.kill(host.pid, number)
    assert code_of(await executing) == "unknown:script_host"
    await until(lambda: processes_of(task.run_id) == [])
    # The next script gets a new host.
    assert isinstance(await execute(executor, script_task("true")), Fetched)
    await host.close()


def _is_alive(pid: int | None) -> bool:
    return bool(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


async def test_a_host_that_died_unnoticed_is_replaced() -> None:
    host = ScriptHost()
    executor = ScriptExecutor(host)
    assert isinstance(await execute(executor, script_task("true")), Fetched)
    assert host.pid is not None
    os.kill(host.pid, signal.SIGKILL)
    block_until(lambda: not _is_alive(host.pid))  # the loop does not run meanwhile: asyncio does not know it yet
    assert isinstance(await execute(executor, script_task("true")), Fetched)
    await host.close()


@pytest.mark.parametrize("isolation", ["namespaces", "user_namespaces", "none"])
async def test_limits_hold_in_every_isolation(isolation: str) -> None:
    host = ScriptHost(isolation)
    executor = ScriptExecutor(host)
    for code, expected in ((FORK_BOMB, "limit:processes"), (DAEMON, "bad_response:left_processes"), ("", None)):
        task = python_task(code, limits=LOW)
        outcome = await execute(executor, task)
        assert code_of(outcome) == expected
        assert isinstance(outcome, Failed | Fetched)
        assert outcome.stats["isolation"] == isolation
        assert processes_of(task.run_id) == []
    await host.close()


@pytest.mark.parametrize("isolation", ["namespaces", "user_namespaces", "none"])
async def test_a_worker_that_dies_takes_its_scripts_with_it(isolation: str) -> None:
    """A worker is a process: here one that starts a script and is killed."""
    code = (
        "import asyncio, sys\n"
        "from corral.scripts.executor import ScriptExecutor\nfrom corral.scripts.launcher import ScriptHost\n"
        "from tests.scripts.builders import script_task\n"
        "task = script_task('sh', '-c', 'setsid sleep 600 & sleep 600 & wait')\n"
        "print(task.run_id, flush=True)\n"
        f"asyncio.run(ScriptExecutor(ScriptHost({isolation!r})).execute(task, lambda _: None))"
    )
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert worker.stdout is not None
    run_id = (await worker.stdout.readline()).decode().strip()
    await until(lambda: len(processes_of(run_id)) >= 3)
    worker.kill()
    await worker.wait()
    await until(lambda: processes_of(run_id) == [])
