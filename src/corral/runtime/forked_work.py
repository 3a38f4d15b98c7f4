"""Run one-time work in a fork, so that the modules it loads take no memory in this process."""

import os
import pickle
import signal
from collections.abc import Callable
from typing import NoReturn

from corral.domain.errors import CorralError
from corral.runtime.process import die_with_parent

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_apart(work: Callable[[], None]) -> None:
    """Run the function in a child process, and re-raise its CorralError here.

    For blocking work at startup, before threads exist: a fork has only the calling thread.
    """
    read, write = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(read)
        _work_and_leave(work, write, parent)
    os.close(write)
    with os.fdopen(read, "rb") as source:
        pickled_error = source.read()
    _, status = os.waitpid(child, 0)
    if pickled_error:
        kind, args, attributes = pickle.loads(pickled_error)  # noqa: S301 - from our own fork
        error: CorralError = kind.__new__(kind, *args)
        error.__dict__.update(attributes)
        raise error
    if status != 0:
        raise CorralError(f"a startup step failed ({_describe_exit(status)})", hint="see the lines above")


def _work_and_leave(work: Callable[[], None], write: int, parent: int) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)  # otherwise the parent's event loop would receive our signals
        for number in _STOPS:
            signal.signal(number, signal.SIG_DFL)
        die_with_parent(parent)
        work()
        code = 0
    except CorralError as error:
        with os.fdopen(write, "wb") as sink:
            sink.write(pickle.dumps((type(error), error.args, error.__dict__)))
        code = 0
    except BaseException:  # noqa: BLE001 - printed like an uncaught error; the callers' code must not run in the fork
        import traceback  # noqa: PLC0415

        traceback.print_exc()
    finally:
        os._exit(code)


def _describe_exit(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
