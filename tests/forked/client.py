"""Have a fork run a program with our folder, variables, umask and streams: `client.py SOCKET PROGRAM ARGUMENT…`.

Loads next to nothing: it is to be quick.
"""

import json
import os
import signal
import socket
import sys

# How many of a module's first arguments are numbers of open files, which the fork gets under numbers of its own.
_FILES = {"corral.entrypoints.worker_process": 3, "corral.entrypoints.parser_process": 2}
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def main() -> None:
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[1])
    umask = os.umask(0)
    os.umask(umask)
    request = [sys.argv[2:], dict(os.environ), os.getcwd(), umask, os.getpid()]  # noqa: PTH109
    asked = json.dumps(request).encode()
    files = [int(number) for number in sys.argv[3 : 3 + _FILES.get(sys.argv[2], 0)]]
    socket.send_fds(server, [len(asked).to_bytes(4, "big")], [0, 1, 2, *files])
    for number in files:  # the other side is to notice when the fork closes them
        os.close(number)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _: server.send(bytes([number])))
    server.sendall(asked)
    _pid, ended = server.makefile()
    status = int(ended)
    if status < 0:
        if -status in _PASSED_ON:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
