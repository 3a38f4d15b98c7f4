"""Health is asked of real servers: well, refusing, loading, silent, or something else altogether."""

import http.server
import json
import threading
from pathlib import Path

import pytest
import redis

from corral.supervisor.checks import (
    INSTANCE_KEY,
    address_of,
    celery_health,
    claim_instance,
    http_health,
    postgres_answers,
    postgres_health,
    redis_health,
)
from corral.supervisor.plan import WELL
from tests.services import PostgresCluster, RedisServer
from tests.services.ports import free_port
from tests.supervisor.checks_helpers import redis_with, serve_words


def test_a_redis_that_answers_is_well_and_one_that_is_not_there_can_be_started(redis_server: RedisServer) -> None:
    assert redis_health(redis_server.url()) == WELL
    away = redis_health(f"redis://user:secret@127.0.0.1:{free_port()}/0")
    assert (away.is_well, away.hopeless, away.is_there) == (False, False, False)
    assert "secret" not in away.problem
    assert away.problem.startswith("no Redis answers at 127.0.0.1:")


def test_a_redis_that_wants_a_password_or_takes_no_writes_is_named(tmp_path: Path) -> None:
    with redis_with(tmp_path, "--requirepass", "hush") as url:
        refused = redis_health(url)
        assert refused.hopeless
        assert "asks for a password (NOAUTH)" in refused.problem
        assert redis_health(url.replace("127.0.0.1", ":wrong@127.0.0.1")).hopeless
        assert redis_health(url.replace("127.0.0.1", ":hush@127.0.0.1")) == WELL
        with redis.Redis.from_url(url.replace("127.0.0.1", ":hush@127.0.0.1")) as client:
            client.replicaof("127.0.0.1", str(free_port()))
        readonly = redis_health(url.replace("127.0.0.1", ":hush@127.0.0.1"))
        assert readonly.hopeless
        assert "READONLY" in readonly.problem


def test_a_redis_that_is_loading_is_waited_for() -> None:
    """Said by a stand-in: a real one would need gigabytes to load for long enough."""
    with serve_words(b"-LOADING Redis is loading the dataset in memory\r\n") as port:
        loading = redis_health(f"redis://127.0.0.1:{port}/0")
    assert (loading.is_there, loading.hopeless) == (True, False)
    assert "LOADING" in loading.problem


def test_what_is_no_redis_is_said_to_be_none() -> None:
    with serve_words(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        other = redis_health(f"redis://127.0.0.1:{port}/0")
    assert other.hopeless
    assert f"the server at 127.0.0.1:{port} is not Redis" in other.problem
    assert "is malformed" in redis_health("redis://127.0.0.1/0?db=nine").problem
    with serve_words(b"") as port:
        mute = redis_health(f"redis://127.0.0.1:{port}/0")
    assert (mute.is_there, mute.hopeless) == (True, False)


def test_two_installations_notice_that_they_share_a_redis(redis_server: RedisServer) -> None:
    url = redis_server.url(7)
    assert claim_instance(url, "one", "the first, in /srv/one") is None
    assert claim_instance(url, "one", "the first, in /srv/one") is None
    assert claim_instance(url, "two", "another") == "the first, in /srv/one"
    with redis.Redis.from_url(url) as client:
        found = client.get(INSTANCE_KEY)
        assert isinstance(found, bytes)
        assert json.loads(found)["identity"] == "one"
        left_s = client.ttl(INSTANCE_KEY)
        assert isinstance(left_s, int)
        assert 0 < left_s <= 3600  # whoever moved away is forgotten
        client.set(INSTANCE_KEY, "not ours at all")
    assert claim_instance(url, "one", "…") is None, "its health says what is wrong with it"


def test_postgres_is_asked_for_an_answer(postgres: PostgresCluster) -> None:
    assert postgres_health(postgres.url()) == postgres_answers(postgres.url()) == WELL
    assert "does not answer" in postgres_answers(f"postgresql://u:secret@127.0.0.1:{free_port()}/d").problem
    with serve_words(b"") as port:
        assert not postgres_answers(f"postgresql://127.0.0.1:{port}/d").is_well
    assert postgres_health(postgres.url().replace("postgresql://", "postgresql+psycopg://")) == WELL
    missing = postgres_health(postgres.url("no_such_database").replace("corral@", "corral:secret@"))
    assert "no_such_database" in missing.problem
    assert "secret" not in missing.problem


def test_the_api_is_ready_when_it_says_so() -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/ready" else 503)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert http_health("127.0.0.1", server.server_port) == WELL
        assert "/health answers 503" in http_health("127.0.0.1", server.server_port, "/health").problem
        server.shutdown()
    assert "does not answer" in http_health("127.0.0.1", free_port()).problem


def test_a_worker_is_alive_when_it_answers() -> None:
    def unheard() -> list[str]:
        raise ConnectionError

    assert celery_health(lambda: ["celery@here"]) == WELL
    assert celery_health(list).problem == "no Celery worker answers"
    assert "does not deliver pings" in celery_health(unheard).problem


@pytest.mark.parametrize(
    "url, place",
    [("redis://:secret@host:1/0", "host:1"), ("unix:///run/redis.sock", "/run/redis.sock"), ("redis://host", "host")],
)
def test_no_password_is_shown(url: str, place: str) -> None:
    assert address_of(url) == place
