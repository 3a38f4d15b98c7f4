"""What is killed: workers, nodes, installations; children, workers and fleets under Celery."""

import os
import signal

from tests.chaos.fleet import Fleet, until_works
from tests.chaos.stack import NodeProcess, Stack


def start(stack: Stack) -> NodeProcess:
    node = stack.node(workers=2, runs_per_process=5)
    node.wait_for_message("ready")
    return node


def kill(what: str, nodes: list[NodeProcess], stack: Stack, chance: float) -> bool:
    """Whether there was something to kill: a worker may just have died, and the next one not be there yet."""
    if what == "worker":
        pids = [pid for node in nodes for pid in node.worker_pids]
        try:
            os.kill(pids[int(chance * len(pids))], signal.SIGKILL)
        except (IndexError, ProcessLookupError):
            return False
        return True
    dead = list(nodes) if what == "installation" else [nodes[int(chance * len(nodes))]]
    for node in dead:
        node.kill()
        nodes.remove(node)
    nodes += [start(stack) for _ in dead]
    return True


def hurt_fleet(made: Fleet, what: str, chance: float) -> bool:
    victim = made.workers[int(chance * len(made.workers))]
    if what == "child":
        return made.kill_child(victim)
    for process in list(made.workers) if what == "fleet" else [victim]:
        made.kill_worker(process)
    while len(made.workers) < 2:
        until_works(made.start_worker("--concurrency", "10", "--beat"))
    return True
