import pytest

from corral.settings import Settings, load_settings
from tests.cli.command import Corral


@pytest.mark.parametrize("text", ["Café/1.0", "a\x7fb", "a\tb", "Corral\nX-Evil: 1", "Corral/0.1\n", "x" * 201])
def test_a_user_agent_that_is_no_header_is_bad_configuration(corral: Corral, text: str) -> None:
    done = corral.here("doctor", APP_USER_AGENT=text)
    assert done.code == 78
    assert "APP_USER_AGENT" in done.out
    assert corral.here("run", "list", APP_USER_AGENT=text).code == 78


def test_an_ordinary_user_agent_is_taken(corral: Corral) -> None:
    assert corral.here("run", "list", APP_USER_AGENT="Corral/0.1 (+https://example.com/bot)").code == 0


@pytest.mark.parametrize(
    "given, broker",
    [
        ({}, "redis://127.0.0.1:6379/1"),
        ({"APP_REDIS_URL": "redis://:pw@cache.example:7000/4"}, "redis://:pw@cache.example:7000/1"),
        (
            {"APP_REDIS_URL": "redis://cache.example/0", "APP_CELERY_BROKER_URL": "redis://other.example/2"},
            "redis://other.example/2",
        ),
    ],
)
def test_one_redis_is_enough(monkeypatch: pytest.MonkeyPatch, given: dict[str, str], broker: str) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert load_settings().celery_broker_url == broker


def test_the_user_agent_names_where_the_operator_is_reached() -> None:
    assert Settings().agent == "Corral/0.1"
    named = Settings(contact_url="https://example.com/bot")
    assert named.agent == "Corral/0.1 (+https://example.com/bot)"
