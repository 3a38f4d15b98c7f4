"""The services of a distributed installation, as its settings require them: Redis, PostgreSQL, workers, the API."""

import functools
import hashlib
import ipaddress
import os
import sys
from collections.abc import Callable, Container, Sequence
from enum import Enum
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from corral.domain.errors import BadConfiguration, StorageUnavailable
from corral.runtime.forked_work import run_apart
from corral.settings import Settings
from corral.supervisor import checks
from corral.supervisor.plan import WELL, Adopts, Service, ServiceHealth
from corral.wiring.redis import OwnRedis, program_environment, redis_program

REDIS, POSTGRES, API = "redis", "postgres", "api"
FIRST_WORKER = "worker-1"
WORKER_CONCURRENCY = 8
_SCHEMES = ("redis", "rediss")
_PING_S = 1.0
_REDIS_STARTS_S = 30.0
# Within the two seconds that a stop may take beyond the grace period; the broker, which stops last, needs a moment.
_STOP_MARGIN_S = 1.5
_CORRAL = (sys.executable, "-m", "corral")
_TOKENS = ("APP_READ_TOKEN", "APP_WRITE_TOKEN")  # only the API needs them


class Installation:
    """The services that the settings require. Calls `warn` at most once, with a message for the operator."""

    def __init__(self, settings: Settings, warn: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._warn = warn
        self._warned = False
        self._own_redis = OwnRedis(settings)
        self._controls: dict[str, Any] = {}  # by address: it changes when we start a Redis of our own
        self.data_dir = settings.data_dir.absolute()

    @property
    def broker(self) -> str:
        return self._own_redis.url

    # -- before anything is started ---------------------------------------------------------------------

    def check(self) -> None:
        """Raise BadConfiguration with all problems that prevent a start; StorageError if only the database fails."""
        problems = [*self._broker_problems(), *self._database_problems()]
        if problems:
            raise BadConfiguration(problems)
        run_apart(self._check_database)  # in a child: a supervisor has no other use for the modules it loads

    def _check_database(self) -> None:
        """Check that the database is reachable and of a known version, once for all processes. Changes nothing."""
        from corral.store import schema  # noqa: PLC0415 - see above
        from corral.store.open import version_of  # noqa: PLC0415

        if self.has_postgres and not (health := checks.postgres_health(self.settings.store_url)).is_well:
            raise StorageUnavailable(health.problem, hint="start it, or correct APP_DATABASE_URL")
        version = version_of(self.settings.store_url)
        if version is not None:
            location = "the PostgreSQL database" if self.has_postgres else self.settings.store_url
            schema.check_version(version, location)

    def _broker_problems(self) -> list[str]:
        name = "APP_CELERY_BROKER_URL"
        parts = _split(self.broker)
        if parts is None:
            return [f"{name} cannot be read; write redis://HOST:PORT/NUMBER"]
        if parts.scheme not in _SCHEMES:
            scheme = self.broker.partition(":")[0][:20]
            return [f"{name} starts with {scheme}:, and the broker is a Redis; write redis://HOST:PORT/NUMBER"]
        if not parts.path.strip("/").isdecimal() and parts.path.strip("/"):
            return [f"{name} ends with {parts.path}, and a Redis has numbers for databases; write redis://HOST:PORT/1"]
        health = checks.redis_health(self.broker)
        if health.is_well or health.is_there:
            return []
        if health.hopeless:
            return [f"{health.problem} (in {name})"]
        if parts.scheme != "redis" or not _is_loopback(parts.hostname or ""):
            return [f"{health.problem}, and Corral starts a Redis on this machine only; start it, or set {name}"]
        if redis_program() is None:
            reason = "and there is no redis-server to start one with"
            return [f"{health.problem}, {reason}; `apt-get install redis-server` (`brew install redis`), or set {name}"]
        return []

    def _database_problems(self) -> list[str]:
        if self.settings.store_url in ("sqlite://", "sqlite:///:memory:"):
            return ["a database in memory cannot be shared by several processes; leave APP_DATABASE_URL out"]
        return []

    @property
    def has_postgres(self) -> bool:
        return not self.settings.store_url.startswith("sqlite:")

    # -- the services -----------------------------------------------------------------------------------

    def services(self, *, workers: int | None = None, api: tuple[str, int] | None = None) -> list[Service]:
        """Return the services in starting order. Without `workers`: one Celery worker, unless one already answers.

        The API is started before the workers: it answers without them, and the runs it accepts stay queued.
        """
        base = [self._redis(), *([self._postgres()] if self.has_postgres else [])]
        below = tuple(service.name for service in base)
        names = [f"worker-{number}" for number in range(1, (workers or 1) + 1)]
        adopts = Adopts.FIRST if workers is None else Adopts.NEVER
        # On a machine with few cores, the API answers sooner if it loads before the workers do.
        after = (API,) if api is not None and (os.cpu_count() or 1) <= len(names) + 1 else ()
        celery_workers = [self._worker(name, below, adopts, after) for name in names]
        return [*base, *([] if api is None else [self._api(*api, needs=below)]), *celery_workers]

    def _redis(self) -> Service:
        program = redis_program()
        return Service(
            REDIS,
            self._redis_health,
            command=(str(program), str(self._own_redis.conf)) if program is not None else (),
            environment=program_environment,
            inherits=False,
            prepare=self._own_redis.write_conf,
            start_s=_REDIS_STARTS_S,
        )

    def _postgres(self) -> Service:
        """Only check PostgreSQL: Corral neither starts nor stops a database server."""
        return Service(POSTGRES, lambda _: checks.postgres_answers(self.settings.store_url))

    def _worker(self, name: str, needs: Sequence[str], adopts: Adopts, after: tuple[str, ...] = ()) -> Service:
        explicit = self.settings.model_fields_set
        concurrency = self.settings.runs_per_process if "runs_per_process" in explicit else WORKER_CONCURRENCY
        # One process each unless the settings name a number: an installation grows with --workers.
        processes = () if "workers" in explicit else ("--processes", "1")
        beat = ("--beat",) if name == FIRST_WORKER else ()  # one scheduler for all nodes
        return Service(
            name,
            self._worker_health,
            tuple(needs),
            (*_CORRAL, "worker", *beat, *processes, "--concurrency", str(concurrency)),
            functools.partial(self.environment, without=_TOKENS),
            adopts=adopts,
            stop_s=self.settings.shutdown_grace_seconds + _STOP_MARGIN_S,
            after=after,
        )

    def _api(self, host: str, port: int, *, needs: tuple[str, ...]) -> Service:
        address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        return Service(
            API,
            lambda _: checks.http_health(address, port),
            needs,
            (*_CORRAL, "serve", "--host", host, "--port", str(port)),
            self.environment,
            adopts=Adopts.NEVER,
        )

    def environment(self, without: Container[str] = ()) -> dict[str, str]:
        """Return the environment of a child process, without the variables in `without`."""
        inherited = {name: value for name, value in environment_of(self.settings).items() if name not in without}
        ours = {"APP_TRANSPORT": "celery", "APP_DATA_DIR": str(self.data_dir), "APP_CELERY_BROKER_URL": self.broker}
        return {**inherited, **ours}

    # -- Redis ------------------------------------------------------------------------------------------

    def _redis_health(self, pid: int | None) -> ServiceHealth:
        """Check our Redis with its password; before it is started, check whether another answers without one."""
        health = checks.redis_health(self._own_redis.configured_url if pid is None else self.broker)
        if pid is None and health.is_well:
            self._own_redis.forget_password()
        if health.is_well and (other := self._other_installation()) is not None and not self._warned:
            self._warned = True
            self._warn(
                f"the Redis at {checks.address_of(self.broker)} is used by another installation ({other}); "
                "give each a database of its own: another number at the end of APP_CELERY_BROKER_URL"
            )
        return health

    def _other_installation(self) -> str | None:
        """Return the installation that claimed the broker. All nodes on the same database are one installation."""
        about = f"{self.data_dir} on {os.uname().nodename}"
        return checks.claim_instance(self.broker, identity_of(self.settings), about)

    # -- Celery workers ----------------------------------------------------------------------------------------

    def _ping(self, **target: Any) -> list[str]:
        """Ping Celery workers through the broker and return the first that answers."""
        replies = self._control.broadcast("ping", reply=True, timeout=_PING_S, limit=1, **target)
        return [str(name) for reply in replies or () for name in reply]

    @property
    def _control(self) -> Any:
        from corral.transport.celery import make_celery  # noqa: PLC0415 - loaded on the first ping

        url = self.broker
        if url not in self._controls:
            app = make_celery(url)
            options = app.conf.broker_transport_options
            app.conf.broker_transport_options = {**options, "max_retries": 1, "interval_start": 0}
            self._controls[url] = app.control
        return self._controls[url]

    def _worker_health(self, pid: int | None) -> ServiceHealth:
        """Ping our worker; before it is started, check whether another worker of this installation answers."""
        if pid is not None:
            name = f"corral-{pid}@{os.uname().nodename}"
            return self._ping_celery(lambda: self._ping(destination=[name]))
        if not (broker := checks.redis_health(self.broker)).is_well:
            return broker
        if not checks.has_listeners(self.broker):
            return ServiceHealth(is_well=False, problem="no Celery worker answers")
        if self._other_installation() is not None:
            return ServiceHealth(is_well=False, problem="the Celery workers that answer belong to another installation")
        return self._ping_celery(self._ping)

    def worker_here(self) -> ServiceHealth:
        """Ping any Celery worker of this machine, whatever its process id."""
        return self._ping_celery(lambda: self._ping(pattern=f"*@{os.uname().nodename}", matcher="glob"))

    def _ping_celery(self, ping: Callable[[], list[str]]) -> ServiceHealth:
        if not (broker := checks.redis_health(self.broker)).is_well:
            return ServiceHealth(is_well=False, problem=f"the broker does not answer: {broker.problem}")
        # Several short pings instead of one long one, so that a worker that starts meanwhile is found at once.
        for _ in range(round(checks.CELERY_S / _PING_S) - 1):
            if checks.celery_health(ping).is_well:
                return WELL
        return checks.celery_health(ping)


def identity_of(settings: Settings) -> str:
    """Identify an installation by its database, independent of the data folder and the password."""
    url = settings.store_url
    parts = urlsplit(url)
    location = f"{os.uname().nodename}:{url}" if parts.scheme == "sqlite" else f"{checks.address_of(url)}{parts.path}"
    return hashlib.sha256(location.encode()).hexdigest()[:32]


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the explicitly set settings as the environment of another process."""
    explicit = {name: getattr(settings, name) for name in settings.model_fields_set}
    return {f"APP_{name.upper()}": _format_value(value) for name, value in explicit.items() if value is not None}


def _format_value(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed lazily; raises ValueError here
    except ValueError:
        return None
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
