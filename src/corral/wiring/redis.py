"""The Redis that a supervisor starts: on loopback, behind a password, keeping nothing on disk."""

import os
import re
import secrets
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from corral.log import hide
from corral.settings import Settings
from corral.supervisor.records import is_supervised, write_whole

_SERVERS = ("redis-server", "valkey-server")
_USUAL_DATABASES = 16
_PASSWORD_BYTES = 32


class OwnRedis:
    """The Redis that Corral starts. If its URL has no password, Corral generates one and stores it in the data folder.

    `url` includes that password once this installation runs the Redis; any other Redis is used as configured.
    """

    def __init__(self, settings: Settings) -> None:
        self.configured_url = settings.celery_broker_url
        data_dir = settings.data_dir.absolute()
        self.conf = data_dir / "redis" / "redis.conf"
        self._password_file = data_dir / "redis" / "password"
        self._password = self._read_password() if is_supervised(data_dir / "run") else None

    @property
    def url(self) -> str:
        return self.configured_url if self._password is None else _with_password(self.configured_url, self._password)

    def forget_password(self) -> None:
        """Forget the password: the Redis at this address is not ours."""
        self._password = None
        self._password_file.unlink(missing_ok=True)

    def write_conf(self) -> None:
        """Write the configuration. Redis keeps nothing on disk: its messages are only hints."""
        if _password_in(self.configured_url) is None:
            self._password = self._password or secrets.token_urlsafe(_PASSWORD_BYTES)
            hide([self._password])
            write_whole(self._password_file, self._password)
        parts = urlsplit(self.url)
        number = int(parts.path.strip("/") or 0)
        lines = [
            f"bind {'127.0.0.1' if parts.hostname == 'localhost' else parts.hostname}",
            f"port {parts.port or 6379}",
            "protected-mode yes",
            "daemonize no",
            f'dir "{self.conf.parent}"',
            'save ""',
            "appendonly no",
            "maxmemory-policy noeviction",
            f"databases {max(_USUAL_DATABASES, number + 1)}",
        ]
        # A process title would overwrite the environment, which holds our marker. Old versions lack the option.
        lines += ["set-proc-title no"] if _version(redis_program()) >= (6, 2) else []
        password = _password_in(self.url)
        if parts.username and password:
            rights = "allkeys allchannels allcommands"
            lines += [f"user {_quote(unquote(parts.username))} on {_quote('>' + password)} {rights}"]
        elif password:
            lines += [f"requirepass {_quote(password)}"]
        write_whole(self.conf, "\n".join(lines) + "\n")

    def _read_password(self) -> str | None:
        try:
            password = self._password_file.read_text()
        except OSError:
            return None
        hide([password])
        return password or None


def broker_url(settings: Settings) -> str:
    """Return the broker address of an installation that a supervisor on this machine runs."""
    return settings.celery_broker_url if _password_in(settings.celery_broker_url) else OwnRedis(settings).url


def program_environment() -> dict[str, str]:
    """Return the minimal environment of a foreign program."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}


def redis_program() -> Path | None:
    program = next(filter(None, map(shutil.which, _SERVERS)), None)
    return None if program is None else Path(program)


def _version(program: Path | None) -> tuple[int, ...]:
    if program is None:
        return ()
    output = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    match = re.search(r"\bv=(\d+)\.(\d+)", output)
    return tuple(map(int, match.groups())) if match else ()


def _password_in(url: str) -> str | None:
    try:
        password = urlsplit(url).password
    except ValueError:
        return None
    return unquote(password) if password else None


def _with_password(url: str, password: str) -> str:
    parts = urlsplit(url)
    user, _, address = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}:{quote(password, safe='')}@{address}"))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def progress_url(settings: Settings) -> str:
    """Return the URL of the Redis for progress: APP_REDIS_URL, with the password of our own Redis if it is that one."""
    broker, configured = urlsplit(broker_url(settings)), urlsplit(settings.redis_url)
    if (broker.hostname, broker.port) != (configured.hostname, configured.port) or configured.password:
        return settings.redis_url
    return urlunsplit(broker._replace(path=configured.path))
