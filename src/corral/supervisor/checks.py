"""Health checks: one function per kind of service. Each tests what has to work, within a time limit."""

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from corral.supervisor.plan import WELL, ServiceHealth

REDIS_S = 2.0
CELERY_S = 5.0
_HTTP_S = 5.0
_DATABASE_S = 5
_POSTGRES_PORT = 5432
_SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")
INSTANCE_KEY = "corral:instance"
# Longer than any pause of a supervisor, and short enough that the claim of an installation that moved expires soon.
_INSTANCE_S = 3600


def redis_health(url: str) -> ServiceHealth:
    """Check Redis with PING and a write. A missing Redis can be started; a person has to fix any other problem."""
    try:
        with _client(url) as client:
            client.ping()
            client.set("corral:check", "", ex=10)
    except redis.exceptions.RedisError as error:
        return _redis_problem(url, error)
    except ValueError:
        what = f"the address of the Redis at {address_of(url)} is malformed; write redis://HOST:PORT/NUMBER"
        return ServiceHealth(is_well=False, problem=what, hopeless=True)
    return WELL


# Most specific first: errors of a Redis, and what to do about them.
_REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (redis.exceptions.AuthenticationError, "asks for a password (NOAUTH); write redis://:PASSWORD@HOST:PORT/NUMBER"),
    (redis.exceptions.ReadOnlyError, "is a read-only replica (READONLY); name the primary instead"),
    (redis.exceptions.NoPermissionError, "does not allow this user to read and write (NOPERM); grant it both"),
    (redis.exceptions.ResponseError, "refuses writes"),
)


def _redis_problem(url: str, error: redis.exceptions.RedisError) -> ServiceHealth:
    at = f"the Redis at {address_of(url)}"
    if isinstance(error, redis.exceptions.BusyLoadingError):
        return ServiceHealth(is_well=False, problem=f"{at} is still loading its data (LOADING)", is_there=True)
    refusal = next((refusal for kind, refusal in _REFUSALS if isinstance(error, kind)), None)
    if refusal is not None:
        more = f" ({str(error)[:200]})" if type(error) is redis.exceptions.ResponseError else ""
        return ServiceHealth(is_well=False, problem=f"{at} {refusal}{more}", hopeless=True)
    if isinstance(error, redis.exceptions.ConnectionError | redis.exceptions.TimeoutError):
        if "connecting" in str(error).lower():
            return ServiceHealth(is_well=False, problem=f"no Redis answers at {address_of(url)}")
        what = f"the server at {address_of(url)} does not answer like Redis; name another port"
        return ServiceHealth(is_well=False, problem=what, is_there=True)
    what = f"the server at {address_of(url)} is not Redis; name another port"
    return ServiceHealth(is_well=False, problem=what, hopeless=True)


def address_of(url: str) -> str:
    """Return the host and port of the URL, without its credentials."""
    parts = urlsplit(url)
    host = parts.hostname or parts.path
    return f"{host}:{parts.port}" if parts.port else host


@contextlib.contextmanager
def _client(url: str) -> Iterator["redis.Redis"]:
    retry = Retry(NoBackoff(), 0)
    client = redis.Redis.from_url(url, socket_timeout=REDIS_S, socket_connect_timeout=REDIS_S, retry=retry)
    try:
        yield client
    finally:
        client.close()


def claim_instance(url: str, identity: str, about: str) -> str | None:
    """Claim this Redis database for the installation; return the claim of another installation, if there is one."""
    claim = json.dumps({"identity": identity, "about": about})
    try:
        with _client(url) as client:
            if client.set(INSTANCE_KEY, claim, nx=True, ex=_INSTANCE_S):
                return None
            stored = client.get(INSTANCE_KEY)
            other = json.loads(stored) if isinstance(stored, bytes) else {}
            if not isinstance(other, dict) or other.get("identity") != identity:
                return str(other.get("about") if isinstance(other, dict) else other)[:200]
            client.expire(INSTANCE_KEY, _INSTANCE_S)
    except (redis.exceptions.RedisError, ValueError):
        return None  # the health check reports the problem
    return None


def has_listeners(url: str) -> bool:
    """Return whether Celery's control channel has subscribers: without any, no worker will answer."""
    with _client(url) as client:
        return bool(client.pubsub_numpat() or client.pubsub_channels())


def postgres_answers(url: str) -> ServiceHealth:
    """Check that a PostgreSQL server answers, with the shortest message of its protocol: the driver takes 7 MB."""
    addresses = _postgres_addresses(url)
    if not addresses:  # several hosts, or an address that the driver takes from other settings
        return postgres_health(url)
    problems = []
    for address in addresses:
        try:
            with _connect_to(address) as connection:
                connection.sendall(_SSL_REQUEST)
                if connection.recv(1):
                    return WELL
            problems.append("it closed the connection")
        except OSError as error:
            problems.append(error.strerror or str(error))
    what = f"PostgreSQL at {address_of(url)} does not answer: {'; '.join(problems)}"
    return ServiceHealth(is_well=False, problem=what)


def _postgres_addresses(url: str) -> list[tuple[str, int] | str]:
    """Return the host with its port, or the path of the socket; nothing if only the driver can tell."""
    parts = urlsplit(url)
    parameters = parse_qs(parts.query)
    try:
        port = int(parameters.get("port", [str(parts.port or _POSTGRES_PORT)])[0])
    except ValueError:  # several hosts, each with a port
        return []
    host = parameters.get("host", [parts.hostname or ""])[0]
    if not host or "," in host or "," in parts.netloc:
        return []
    return [f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)]


def _connect_to(address: tuple[str, int] | str) -> socket.socket:
    if not isinstance(address, str):
        return socket.create_connection(address, timeout=_DATABASE_S)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_DATABASE_S)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def postgres_health(url: str) -> ServiceHealth:
    """Check that a login works. Loads the driver."""
    import psycopg  # noqa: PLC0415

    try:
        plain = url.replace("postgresql+psycopg://", "postgresql://", 1)
        with psycopg.connect(plain, connect_timeout=_DATABASE_S) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error as error:
        reason = " ".join(str(error).split())[:300]
        return ServiceHealth(is_well=False, problem=f"PostgreSQL at {address_of(url)} cannot be used: {reason}")
    return WELL


def http_health(host: str, port: int, path: str = "/ready") -> ServiceHealth:
    connection = http.client.HTTPConnection(host, port, timeout=_HTTP_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read(1000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return ServiceHealth(is_well=False, problem=f"{path} does not answer ({error})")
    finally:
        connection.close()
    return (
        WELL
        if answer.status == 200
        else ServiceHealth(is_well=False, problem=f"{path} answers {answer.status}: {body}")
    )


def celery_health(ping: Callable[[], list[str]]) -> ServiceHealth:
    """Check whether a Celery worker answers a ping through the broker."""
    try:
        answered = ping()
    except Exception as error:  # noqa: BLE001 - whatever the broker's library raises, the worker did not answer
        return ServiceHealth(is_well=False, problem=f"the broker does not deliver pings ({type(error).__name__})")
    return WELL if answered else ServiceHealth(is_well=False, problem="no Celery worker answers")
