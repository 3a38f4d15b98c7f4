"""The isolation of scripts for users that are not root."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# The interpreter may lie where only root can read: it becomes another user after its modules are loaded.
_CODE = """
import json, os, socket, sys
from corral.scripts import host, kernel
from corral.scripts.launcher import _send
from corral.scripts.request import StartRequest

hidden = sys.argv[1]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
kernel.hide_memory()
isolation = host.find_isolation()
script = f"id -u; ls {hidden} | wc -l; ls -d /proc/[0-9]* | wc -l; cat /proc/1/environ 2>&1 | wc -c"
request = StartRequest(["sh", "-c", script], "/", {"PATH": "/usr/bin:/bin"}, 30, 512, 64, 64, hidden=[hidden])
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
pipes = _send(ours, request)
_, fds, _, _ = socket.recv_fds(theirs, 64, 8)
host._start_keeper(theirs, fds, isolation)
for descriptor in fds:
    os.close(descriptor)

def read(descriptor):
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor).read()

print(json.dumps([isolation, read(pipes.report), read(pipes.stdout)]))
"""


def _has_namespaces() -> bool:
    done = subprocess.run(["unshare", "-U", "true"], user=65534, group=65534, extra_groups=[], capture_output=True)
    return done.returncode == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user; other users run every test as such")
def test_another_user_gets_namespaces_and_its_scripts_run_in_them(tmp_path: Path) -> None:
    if not _has_namespaces():
        pytest.skip("the kernel gives users no namespaces")
    (tmp_path / "vault.key").write_text("key")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", _CODE, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    isolation, report, out = json.loads(done.stdout)
    assert isolation == "user_namespaces"
    ended = json.loads(report)
    assert (ended["exit_code"], ended["start_error"]) == (0, None)
    user, seen, *processes = map(int, out.split())
    assert (user, seen) == (65534, 0), "the script keeps its user and sees nothing of the data folder"
    if ended["isolation"] == "user_namespaces":
        assert processes[0] <= 4, "it sees its own processes only"
