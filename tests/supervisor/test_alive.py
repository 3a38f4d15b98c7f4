"""`corral alive`: an exit code for health checks. That it finds the living is shown where compose.yaml is run."""

import pytest

from tests.cli.command import Corral
from tests.services import RedisServer
from tests.services.ports import free_port


@pytest.mark.parametrize("part", ["api", "worker"])
def test_who_does_not_answer_is_not_alive(corral: Corral, part: str) -> None:
    port = str(free_port())
    settings = {"APP_CELERY_BROKER_URL": f"redis://127.0.0.1:{port}/1"}
    done = corral.here("alive", part, "--port", port, **settings)
    assert (done.code, done.out) == (1, "")
    assert f"the {part} does not answer" in done.err
    told = corral.here("alive", part, "--port", port, "--json", **settings)
    assert (told.code, told.json["alive"]) == (1, False)
    assert told.json["problem"]
    assert not corral.data.exists()


def test_a_broker_without_workers_has_nobody_who_answers(corral: Corral, redis_server: RedisServer) -> None:
    done = corral.here("alive", "worker", APP_CELERY_BROKER_URL=redis_server.url(13))
    assert done.code == 1
    assert "no Celery worker answers" in done.err
