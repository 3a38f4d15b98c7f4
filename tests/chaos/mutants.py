"""Bugs put in by hand, each with the test that must notice: `python -m tests.chaos.mutants [NAME…]`.

A mutant is applied to a copy of the sources in a temporary folder. Not a part of `make test`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.shape.files import ROOT

ENGINE = "src/corral/engine"
STORE = "src/corral/store"
DOMAIN = "src/corral/domain"


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    test: str


MUTANTS = [
    Mutant(
        "a write is not fenced by its epoch",
        f"{STORE}/queries/runs/claims.py",
        '    runs.c.epoch == param("epoch"),\n    runs.c.owner == param("owner"),\n',
        '    runs.c.owner == param("owner"),\n',
        "tests/chaos/test_races.py -k earlier_epoch",
    ),
    Mutant(
        "a released run has used up an attempt",
        f"{STORE}/queries/runs/claims.py",
        ".values(state=target(RunAction.RELEASE).value,",
        ".values(state=target(RunAction.RELEASE).value, attempt=runs.c.attempt + 1,",
        "tests/engine/node/test_stopping.py -k fifty",
    ),
    Mutant(
        "a lost run has used up an attempt",
        f"{STORE}/queries/losses.py",
        '        losses=param("losses"),\n',
        '        losses=param("losses"),\n        attempt=runs.c.attempt + 1,\n',
        "tests/engine/node/test_node.py -k poison",
    ),
    Mutant(
        "the reaper does not ask whether the lease has expired",
        f"{STORE}/queries/losses.py",
        '.where(RUNNING, runs.c.lease_until < param("now"), ',
        ".where(RUNNING, ",
        "tests/engine/node/test_node.py -k stalled",
    ),
    Mutant(
        "the poison cap is one too low",
        f"{DOMAIN}/runs/loss.py",
        "LOSS_CAP = 3\n",
        "LOSS_CAP = 2\n",
        "tests/chaos/test_races.py -k cap",
    ),
    Mutant(
        "a settled run has no event",
        f"{STORE}/queries/runs/claims.py",
        "    events.insert(tx, history)\n    if results:",
        "    if results:",
        "tests/engine/node/test_node.py -k executed_and_settled",
    ),
    Mutant(
        "a write is answered before it is committed",
        f"{STORE}/backends/sqlite.py",
        '        """Commit the group under both locks, and release them."""\n',
        "        if results:\n            self._hand_over(loop, results)\n            import time; time.sleep(0.02)\n",
        "tests/chaos/test_commit_points.py -k any_commit",
    ),
    Mutant(
        "bands are served from the wrong end",
        f"{STORE}/queries/runs/claims.py",
        "for band in Priority:",
        "for band in reversed(Priority):",
        "tests/engine/node/test_node.py -k bands",
    ),
    Mutant(
        "leases are renewed by the event loop",
        f"{ENGINE}/node/renewer.py",
        "                self._renew(snapshot)\n",
        "                self._lost.__self__._loop.call_soon_threadsafe(self._renew, snapshot)\n",
        "tests/engine/node/test_leases.py -k stands_still",
    ),
    Mutant(
        "a worker's heart beats in its event loop",
        "src/corral/runtime/heartbeat.py",
        "            time.sleep(BEAT_EVERY_S)\n",
        "            time.sleep(BEAT_EVERY_S)\n"
        "            import gc\n"
        "            tasks = [each for each in gc.get_objects() if isinstance(each, asyncio.Task)]\n"
        "            tasks and asyncio.run_coroutine_threadsafe(asyncio.sleep(0), tasks[0].get_loop()).result()\n",
        "tests/engine/node/test_leases.py -k stands_still",
    ),
    Mutant(
        "outcomes on their way to the store are not renewed",
        f"{ENGINE}/node/node.py",
        "(*self._assignment.waiting_keys(), *list(self._settling))",
        "tuple(self._assignment.waiting_keys())",
        "tests/engine/node/test_leases.py -k outage_is_kept",
    ),
    Mutant(
        "neighbours of a stubborn run are blamed for the kill",
        f"{ENGINE}/node/node.py",
        "        if worker.retiring:\n",
        "        if False:\n",
        "tests/engine/node/test_node.py -k stalled",
    ),
    Mutant(
        "a silent worker still gets runs",
        f"{ENGINE}/node/pool.py",
        "return not (self.retiring or self.outgrown or self.is_silent)",
        "return not (self.retiring or self.outgrown)",
        "tests/engine/node/test_leases.py -k stopped_worker",
    ),
    Mutant(
        "runs are handed to a worker that is not ready",
        f"{ENGINE}/node/pool.py",
        "        self._processes[number] = worker\n",
        "        self._processes[number] = self.workers[number] = worker\n        self._events.ready()\n",
        "tests/engine/node/test_pool.py",
    ),
    Mutant(
        "nobody is told of lost leases",
        f"{ENGINE}/node/renewer.py",
        "            self._lost(set(keys) - held)\n",
        "            pass\n",
        "tests/engine/node/test_control.py -k another_process",
    ),
    Mutant(
        "a stop does not wait for the claim under way",
        f"{ENGINE}/node/node.py",
        "        if self._dispatching is not None:  #",
        "        if False:  #",
        "tests/engine/node/test_stopping.py -k under_way",
    ),
    Mutant(
        "a cancel stops every epoch of the run",
        f"{ENGINE}/worker/worker.py",
        "self._tasks.get((message.run_id, message.epoch))",
        "next((task for key, task in self._tasks.items() if key[0] == message.run_id), None)",
        "tests/engine/worker/test_worker.py -k another_epoch",
    ),
    Mutant(
        "an ended run leaves its room before that is written",
        f"{ENGINE}/node/node.py",
        "return [self._settling[key].lease for key in keys]",
        "return []",
        "tests/engine/node/test_node.py -k no_more_runs",
    ),
    Mutant(
        "more runs are claimed than fit",
        f"{ENGINE}/node/assign.py",
        "capacity = len(usable) * self._limits.runs\n",
        "capacity = len(usable) * self._limits.runs * 2\n",
        "tests/engine/node/test_node.py -k no_more_runs",
    ),
    Mutant(
        "a sweeper back from an outage reaps at once",
        f"{ENGINE}/background/sweep.py",
        "        if now < self._reap_from:\n",
        "        if False:\n",
        "tests/engine/background/test_schedule.py -k was_away",
    ),
    Mutant(
        "a finished run can be cancelled",
        f"{DOMAIN}/runs/run.py",
        "RunAction.CANCEL: (frozenset({RunState.QUEUED, RunState.RUNNING, RunState.HELD})",
        "RunAction.CANCEL: (frozenset({RunState.QUEUED, RunState.RUNNING, RunState.HELD, RunState.COMPLETED})",
        "tests/engine/node/test_control.py -k is_final",
    ),
    Mutant(
        "a brotli bomb is unpacked as far as it goes",
        "src/corral/fetch/codings.py",
        "self._decoder.process(data, output_buffer_limit=_STEP_BYTES)",
        "self._decoder.process(data)",
        "tests/fetch/test_codings.py -k bomb",
    ),
    Mutant(
        "a zstd bomb is unpacked as far as it goes",
        "src/corral/fetch/codings.py",
        "self._frame.decompress(data, _STEP_BYTES)",
        "self._frame.decompress(data)",
        "tests/fetch/test_codings.py -k bomb",
    ),
    Mutant(
        "the first crash of a browser counts as an attempt",
        f"{DOMAIN}/runs/retry.py",
        "    if _is_first_browser_crash(run, outcome) or",
        "    if",
        "tests/domain/runs/test_retry.py -k crashes",
    ),
    Mutant(
        "no crash of a browser counts as an attempt",
        f"{DOMAIN}/runs/retry.py",
        'return all(entry.get("detail") != _BROWSER_CRASH for entry in run.attempts)',
        "return True",
        "tests/domain/runs/test_retry.py -k crashes",
    ),
    Mutant(
        "a lost run goes to the end of the queue",
        f"{STORE}/queries/losses.py",
        "tx.now_ms + round(backoff_s * 1000) if backoff_s else None",
        "tx.now_ms + round(backoff_s * 1000)",
        "tests/chaos/test_backlog.py",
    ),
    Mutant(
        "a claim does not wake the runs that another node has set aside",
        f"{STORE}/queries/runs/waiting.py",
        "waited_for = [row[0] for row in tx.all(WAITED_FOR)]",
        "waited_for: list[str] = []",
        "tests/store/test_order.py -k another_node",
    ),
    Mutant(
        "a connection with an unverified certificate is reused by every job",
        "src/corral/fetch/egress/client.py",
        "key = (pinned.host, pinned.ips, verifies_tls)",
        "key = (pinned.host, pinned.ips, True)",
        "tests/fetch/egress/test_tls.py -k no_other_job",
    ),
    Mutant(
        "robots rules of one route apply to every route",
        "src/corral/fetch/robots.py",
        'return f"{target.origin} {context.route_name}".rstrip()',
        "return target.origin",
        "tests/fetch/egress/test_tls.py -k rules_that_nobody",
    ),
]


def is_noticed(mutant: Mutant) -> bool:
    """True where the named test fails on the mutant."""
    with tempfile.TemporaryDirectory(prefix="corral-mutant-") as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src")
        file = Path(folder) / mutant.file
        text = file.read_text()
        assert text.count(mutant.old) == 1, f"{mutant.name}: {mutant.file} has changed, adapt the mutant"
        file.write_text(text.replace(mutant.old, mutant.new))
        path, _, more = mutant.test.partition(" ")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", path, *more.split()]
        env = {**os.environ, "PYTHONPATH": f"{folder}/src", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout[-2000:] + done.stderr[-2000:]
    return done.returncode == 1


def main(wanted: list[str]) -> int:
    survived = []
    for mutant in MUTANTS:
        if wanted and not any(word in mutant.name for word in wanted):
            continue
        noticed = is_noticed(mutant)
        sys.stdout.write(f"{'noticed ' if noticed else 'SURVIVED'}  {mutant.name}  [{mutant.test}]\n")
        sys.stdout.flush()
        if not noticed:
            survived.append(mutant)
    sys.stdout.write(f"{len(survived)} survived\n")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
