"""The progress of a refresh as keys in Redis, for programs that read it there. The database has the original."""

import structlog
from redis import Redis
from redis.exceptions import RedisError

from corral.domain.proxies.refresh import RefreshProgress

log = structlog.get_logger()

_TTL_S = 24 * 3600
_TIMEOUT_S = 2.0
_NAMES = ("total_chunks", "completed_chunks", "status", "started_at", "completed_at", "result_count")


def refresh_key(job_id: str, name: str) -> str:
    return f"proxy_refresh:{job_id}:{name}"


def refresh_channel(job_id: str) -> str:
    return f"proxy_refresh:{job_id}"


class RefreshListener:
    """Waits for messages about a refresh. After Redis has failed once, it is not used again."""

    def __init__(self, url: str, job_id: str) -> None:
        self._client = Redis.from_url(url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)
        self._messages = self._client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]
        self._is_down = False
        try:
            self._messages.subscribe(refresh_channel(job_id))
        except RedisError:
            self._is_down = True

    def wait(self, seconds: float) -> bool:
        """Wait for a message for this long; return False if Redis is not available."""
        if self._is_down:
            return False
        try:
            self._messages.get_message(timeout=seconds)
        except RedisError:
            self._is_down = True
        return not self._is_down

    def close(self) -> None:
        self._messages.close()
        self._client.close()


class RefreshMirror:
    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Redis | None = None
        self._is_down = False

    def put(self, progress: RefreshProgress) -> bool:
        """Write the keys; return False if Redis does not answer, which is logged once."""
        if self._client is None:
            self._client = Redis.from_url(self._url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)
        document = progress.document()
        try:
            with self._client.pipeline() as pipe:
                for name in _NAMES:
                    if document[name] is not None:
                        pipe.set(refresh_key(progress.job_id, name), str(document[name]), ex=_TTL_S)
                pipe.publish(refresh_channel(progress.job_id), progress.status.value)
                pipe.execute()
            self._is_down = False
        except RedisError as error:
            if not self._is_down:
                log.warning("proxy_refresh_not_mirrored", reason=type(error).__name__)
            self._is_down = True
        return not self._is_down

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
