"""The script host: a small process of a worker that forks a keeper for each script.

It has one thread, loads the standard library only and holds no secrets: a fork of it is cheap and harmless. It ends
with its worker.
"""

import contextlib
import gc
import os
import select
import signal
import socket
import sys

from corral.scripts import kernel
from corral.scripts.hiding import cover_all
from corral.scripts.keeper import Keeper, KeeperFds
from corral.scripts.request import StartRequest, read_all

_MAX_FDS = 8
_WITH_ISOLATION = 3
_NAMESPACES = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS
# From the strongest to the weakest; the kernel decides which of them this user may use.
ISOLATIONS = {
    "namespaces": _NAMESPACES,
    "user_namespaces": _NAMESPACES | kernel.CLONE_NEWUSER,
    "none": 0,
}


def serve(link: socket.socket, isolation: str) -> None:
    """Fork a keeper for each request until the worker closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The host keeps its capabilities, which it needs to start keepers; a program that they execute cannot get them.
    kernel.refuse_privileges()
    gc.freeze()
    gc.disable()
    while True:
        readable = select.select([link], [], [], 1.0)[0]
        _reap()
        if not readable:
            continue
        try:
            message, fds, _, _ = socket.recv_fds(link, 64, _MAX_FDS)
        except ConnectionError:
            return
        if not message:
            return
        _start_keeper(link, fds, isolation)
        for descriptor in fds:
            os.close(descriptor)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _start_keeper(link: socket.socket, fds: list[int], isolation: str) -> None:
    uid, gid = os.getuid(), os.getgid()
    try:
        pid = _fork(isolation)
    except OSError:
        return  # the report pipe closes without a report, which the worker notices
    if pid:
        return
    try:
        link.close()
        _keep(fds, isolation, uid, gid)
    except BaseException as error:  # noqa: BLE001 - a fork must never return into the code of its parent
        sys.stderr.write(f"script keeper: {type(error).__name__}: {error}\n")
    finally:
        os._exit(0)


def _fork(isolation: str) -> int:
    flags = ISOLATIONS[isolation]
    return kernel.clone(flags) if flags else os.fork()


def _keep(fds: list[int], isolation: str, uid: int, gid: int) -> None:
    os.setsid()
    request = StartRequest.decode(read_all(fds[0]))
    owns_proc = False
    if isolation == "none":
        # The keeper outlives the host and ends with the worker: if it were killed, its script would go on.
        kernel.adopt_orphans()
    else:
        kernel.die_with_parent()
        owns_proc = _enter(request, isolation, uid, gid)
    label = isolation if owns_proc or isolation == "none" else f"{isolation}, shared /proc"
    Keeper(request, KeeperFds(*fds[1:7]), isolation=label, owns_proc=owns_proc).run()


def _enter(request: StartRequest, isolation: str, uid: int, gid: int) -> bool:
    """Set up the namespaces; return whether /proc shows only their own processes."""
    if isolation == "user_namespaces":
        kernel.map_user(uid, gid)
        kernel.refuse_privileges()  # a new user namespace has all of them again
    kernel.separate_mounts()
    cover_all(request.hidden, [request.cwd, *request.argv[:2]])
    try:
        kernel.mount_proc()
    except OSError:  # containers mask parts of /proc and forbid a fresh one
        return False
    return True


def find_isolation() -> str:
    """Return the strongest isolation that the kernel grants, tried with a process that ends at once."""
    return next(name for name in ISOLATIONS if name == "none" or _can_isolate(name))


def _can_isolate(name: str) -> bool:
    uid, gid = os.getuid(), os.getgid()
    try:
        pid = _fork(name)
    except OSError:
        return False
    if pid == 0:
        code = 1
        try:
            _enter(StartRequest(["true"], "/", {}, 1, 1, 1, 1), name, uid, gid)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def main() -> None:
    """Serve with the arguments `LINK_FD PARENT_PID [ISOLATION]`; without arguments, print the isolation."""
    if len(sys.argv) == 1:
        sys.stdout.write(f"{find_isolation()}\n")
        return
    link = socket.socket(fileno=int(sys.argv[1]))
    kernel.die_with_parent()
    if os.getppid() != int(sys.argv[2]):
        return
    # Before `find_isolation`, because its result depends on this.
    kernel.hide_memory()
    serve(link, sys.argv[3] if len(sys.argv) > _WITH_ISOLATION else find_isolation())


if __name__ == "__main__":
    main()
