"""What a script prints: lines, records, files, tails, artifacts."""

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.scripts.limits import ScriptLimits
from corral.domain.scripts.protocol import MAX_LINE_BYTES
from corral.domain.scripts.records import RecordSource
from corral.domain.scripts.text import escape_controls
from corral.files.artifacts import ArtifactFolder
from corral.scripts.executor import ScriptExecutor
from corral.scripts.output import LineSplitter, Tail
from tests.scripts.builders import code_of, execute, python_task, script_executor, script_task


@pytest.fixture
async def executor() -> AsyncIterator[ScriptExecutor]:
    async with script_executor() as opened:
        yield opened


async def records_of(executor: ScriptExecutor, code: str, **options: Any) -> list[Any]:
    outcome = await execute(executor, python_task(code, **options))
    assert isinstance(outcome, Fetched), outcome
    assert outcome.problems is None
    return list(outcome.records)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_lines_are_the_same_however_they_arrive(size: int) -> None:
    data = b"one\n\ntwo\r\n" + b"x" * (MAX_LINE_BYTES + 5) + b"\nthree\nlast"
    found: list[tuple[bytes, bool]] = []
    splitter = LineSplitter(lambda line, *, is_cut=False: found.append((line[:4].strip(), is_cut)))
    step = size if size > 5 else MAX_LINE_BYTES // size
    for start in range(0, len(data), step):
        splitter.feed(data[start : start + step])
    splitter.finish()
    assert found == [
        (b"one", False),
        (b"", False),
        (b"two", False),
        (b"xxxx", True),
        (b"thre", False),
        (b"last", False),
    ]


def test_a_tail_is_the_end_of_a_stream() -> None:
    tail = Tail(4)
    for chunk in (b"ab", b"cd", b"ef"):
        tail.feed(chunk)
    assert (tail.text(), tail.bytes) == ("cdef", 6)
    tail.feed("äöü".encode())
    assert tail.text() == "öü"


def test_control_characters_are_escaped() -> None:
    assert escape_controls("a\x1b[31mb\r\nc\td\0\u2028\x85") == "a\\x1b[31mb\nc\td\\x00\\u2028\\x85"
    assert len(escape_controls("\x1b" * 100_000)) <= 2 * 4096


async def test_json_lines_among_log_lines(executor: ScriptExecutor) -> None:
    code = (
        "print('start')\nprint('  {\"a\": \"ü\"}  ')\nprint('[1]')\nprint()\nimport sys\nsys.stdout.write('{\"b\": 2}')"
    )
    assert await records_of(executor, code) == [{"a": "ü"}, {"b": 2}]


@pytest.mark.parametrize("indent", [None, 2])
async def test_one_document_on_stdout(executor: ScriptExecutor, indent: int | None) -> None:
    rows = [{"a": 1}, {"a": 2}]
    text = json.dumps(rows, indent=indent)
    assert await records_of(executor, f"print({text!r})") == rows
    assert await records_of(executor, f"print({json.dumps(rows[0], indent=2)!r})") == rows[:1]


@pytest.mark.parametrize(
    "name, text, records",
    [
        ("out.jsonl", '{"a": 1}\n\n{"a": 2}', [{"a": 1}, {"a": 2}]),
        ("out.json", '[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ("out.csv", '\ufeffa,b\n1,x\n2,"y\nz"\n', [{"a": "1", "b": "x"}, {"a": "2", "b": "y\nz"}]),
    ],
)
async def test_records_from_a_file(
    executor: ScriptExecutor, tmp_path: Path, name: str, text: str, records: list[Any]
) -> None:
    code = f"open({name!r}, 'w', encoding='utf-8').write({text!r}); print('{{\"not\": 1}}')"
    source = RecordSource.of(f"file:{name}")
    assert await records_of(executor, code, cwd=tmp_path, records=source) == records


async def test_a_file_that_the_script_did_not_write(executor: ScriptExecutor, tmp_path: Path) -> None:
    source = RecordSource.of("file:out.jsonl")
    assert (
        code_of(await execute(executor, python_task("", cwd=tmp_path, records=source))) == "bad_response:records_file"
    )
    old = tmp_path / "out.jsonl"
    old.write_text('{"a": 1}\n')
    os.utime(old, (1, 1))
    assert (
        code_of(await execute(executor, python_task("", cwd=tmp_path, records=source))) == "bad_response:records_file"
    )


async def test_a_records_file_may_not_lead_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "data"
    secret.mkdir()
    (secret / "keys.jsonl").write_text('{"secret": 1}\n')
    code = f"import os; os.symlink({str(secret / 'keys.jsonl')!r}, 'out.jsonl')"
    async with script_executor(hidden=(str(secret),)) as executor:
        task = python_task(code, cwd=tmp_path, records=RecordSource.of("file:out.jsonl"))
        outcome = await execute(executor, task)
    assert isinstance(outcome, Failed)
    assert outcome.records == ()


async def test_the_name_of_a_records_file_as_an_argument(executor: ScriptExecutor) -> None:
    code = "import sys; open(sys.argv[1], 'w').write('{\"a\": 1}\\n')"
    outcome = await execute(executor, script_task(sys.executable, "-c", code, "{records_file}"))
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({"a": 1},)


async def test_no_records_are_read_where_none_are_wanted(executor: ScriptExecutor) -> None:
    assert await records_of(executor, "print('{broken'); print('{\"a\": 1}')", records=RecordSource.of("none")) == []


async def test_the_result_protocol(executor: ScriptExecutor) -> None:
    told: list[dict[str, Any]] = []
    code = (
        "import os, json\n"
        "def say(**m): os.write(int(os.environ['CORRAL_RESULT_FD']), (json.dumps(m) + '\\n').encode())\n"
        "print('{\"ignored\": 1}')\n"
        "say(record={'a': 1}, progress={'done': 1, 'total': 2})\nsay(record={'a': 2})\nsay(done={'records': 2})"
    )
    outcome = await execute(executor, python_task(code), told.append)
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({"a": 1}, {"a": 2})
    assert outcome.stats["progress"] == {"done": 1, "total": 2}
    assert told


async def test_the_whole_output_is_an_artifact(tmp_path: Path) -> None:
    async with script_executor(tmp_path / "artifacts") as executor:
        outcome = await execute(executor, python_task("print('x' * 100_000)\nimport sys\nsys.exit('bad')"))
    assert isinstance(outcome, Failed)
    folder = ArtifactFolder(tmp_path / "artifacts")
    kept = {each.kind.value: folder.read(each) for each in outcome.artifacts}
    assert kept == {"stdout": b"x" * 100_000 + b"\n", "stderr": b"bad\n"}
    assert len(outcome.stats["output"]["stdout"]) <= 8192
    assert outcome.stats["output"]["stdout_bytes"] == 100_001
    async with script_executor(tmp_path / "artifacts") as executor:
        limits = ScriptLimits(output_mib=1)
        cut = await execute(executor, python_task("while True: print('x' * 999)", limits=limits))
    assert isinstance(cut, Failed)
    assert [each.bytes for each in cut.artifacts] == [2**20], "up to the limit"


async def test_values_of_passed_variables_are_not_shown(
    executor: ScriptExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_KEY", "s3cret-value")
    task = python_task("import os, sys; sys.exit('key is ' + os.environ['OWN_KEY'])", env_names=("OWN_KEY",))
    outcome = await execute(executor, task)
    assert isinstance(outcome, Failed)
    assert "s3cret" not in json.dumps(outcome.stats) + outcome.message
    assert "key is" in outcome.message


async def test_output_that_is_no_text(executor: ScriptExecutor) -> None:
    outcome = await execute(executor, python_task("import sys; sys.stdout.buffer.write(bytes(range(256)) * 10)"))
    assert isinstance(outcome, Fetched)
    json.dumps(outcome.stats)
