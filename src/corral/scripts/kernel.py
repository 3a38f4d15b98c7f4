"""Calls to the Linux kernel that Python has no functions for.

The script host loads this module, so it uses the standard library only.
"""

import ctypes
import os
import platform
import resource
import signal

_libc = ctypes.CDLL(None, use_errno=True)
# Keeps the interpreter lock during the call: the child of a clone continues as the same thread.
_libc_locked = ctypes.PyDLL(None, use_errno=True)

_SYS_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND = 1, 2, 4, 8, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18

# The capabilities that root retains in a script: files, users and ports. All others could undo the isolation.
_RETAINED_CAPABILITIES = frozenset({0, 1, 2, 3, 4, 5, 6, 7, 10, 13})
_LAST_CAPABILITY = 63
_CPU_MARGIN_S = 5


def _check(result: int, call: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def clone(flags: int) -> int:
    """Fork into new namespaces; like `os.fork` for a process with one thread."""
    if _SYS_CLONE is None:
        raise OSError(0, f"namespaces are not supported on {platform.machine()}")
    pid = int(_libc_locked.syscall(ctypes.c_long(_SYS_CLONE), ctypes.c_ulong(flags | signal.SIGCHLD), 0, 0, 0, 0))
    _check(pid, "clone")
    return pid


def prctl(option: int, value: int) -> None:
    _check(_libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def die_with_parent() -> None:
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> None:
    """Prevent other processes of this user from tracing this one and from reading its environment."""
    prctl(_PR_SET_DUMPABLE, 0)


def _show_memory() -> None:
    prctl(_PR_SET_DUMPABLE, 1)


def refuse_privileges() -> None:
    """Deny new rights by setuid programs, and take from root the rights that could undo the isolation."""
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in _RETAINED_CAPABILITIES:
            # Fails for capabilities that the kernel does not know and for users that have none.
            _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def map_user(uid: int, gid: int) -> None:
    """Map the user in a new user namespace to itself, so that the script keeps its user."""
    # The /proc files of a hidden process belong to root: it could not write its own maps.
    _show_memory()
    for path, text in (
        ("/proc/self/setgroups", "deny"),
        ("/proc/self/uid_map", f"{uid} {uid} 1"),
        ("/proc/self/gid_map", f"{gid} {gid} 1"),
    ):
        descriptor = os.open(path, os.O_WRONLY)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    hide_memory()


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [None if argument is None else os.fsencode(argument) for argument in (source, target, kind, data)]
    result = _libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    _check(result, f"mount {target}")


def separate_mounts() -> None:
    """Make later mounts visible only to this process and its children."""
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)


def mount_proc() -> None:
    """Mount `/proc` of this process namespace, which shows no other processes."""
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def cover(path: str) -> None:
    """Show an empty folder or an empty file instead of this one."""
    if os.path.isdir(path):  # noqa: PTH112
        _mount("tmpfs", path, "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "size=4k,mode=0755")
    else:
        _mount("/dev/null", path, None, _MS_BIND)


def limit_resources(limits: dict[str, int | None]) -> None:
    """Lower the limits of each process. NPROC counts all processes of the user, and does not bind root."""
    for name, value in limits.items():
        if value is not None:
            which = getattr(resource, f"RLIMIT_{name}")
            soft, hard = resource.getrlimit(which)
            # At the soft limit of processor time the kernel sends SIGXCPU, which names the cause; then SIGKILL.
            above = _CPU_MARGIN_S if name == "CPU" else 0
            resource.setrlimit(which, (_lower(soft, value), _lower(hard, value + above)))


def _lower(present: int, value: int) -> int:
    return value if present == resource.RLIM_INFINITY else min(present, value)
