"""Parameters become tokens of a command line, or are refused by name."""

from typing import Any

import pytest

from corral.domain.errors import BadInput
from corral.domain.runs.payload.script import payload_for
from corral.domain.scripts.command import build_command
from corral.domain.scripts.scraper import ParameterSpec, ScraperRetry, ScraperSpec

SPEC = ScraperSpec("espn", command=("python", "/srv/espn.py"), cwd="/srv")


def tokens(params: dict[str, Any], *accepted: ParameterSpec) -> tuple[str, ...]:
    spec = ScraperSpec("espn", parameters=accepted or None)
    return build_command(spec, params)


def test_the_command_of_the_seed() -> None:
    params = {"season": "2024-25", "game_ids": [401579404, 401579405]}
    assert build_command(SPEC, params) == (
        "python",
        "/srv/espn.py",
        "--season",
        "2024-25",
        "--game-ids",
        "401579404,401579405",
    )


def test_values_of_every_type() -> None:
    assert tokens({"a": 1.5, "b": True, "c": False, "d": None, "e": [], "f": "$(id); `x` ü"}) == (
        "--a",
        "1.5",
        "--b",
        "--f",
        "$(id); `x` ü",
    )


def test_every_id_is_passed() -> None:
    ids = list(range(5000))
    assert tokens({"game_ids": ids})[1].split(",") == [str(each) for each in ids]


@pytest.mark.parametrize(
    "value",
    [
        "--output=/etc/cron.d/x",
        "-x",
        -5,
        "a\nb",
        "a\0b",
        "a\x1b[31m",
        "a\x85b",
        "\ud800",
        "x" * (64 * 1024 + 1),
        ["a", "-b"],
        ["a,b"],
        ["a", ""],
        {"a": 1},
        [[1]],
        [True],
    ],
)
def test_a_value_that_could_mean_something_else_is_refused_by_name(value: Any) -> None:
    with pytest.raises(BadInput) as refused:
        tokens({"season": value})
    assert (refused.value.code, refused.value.field) == ("parameter", "season")


@pytest.mark.parametrize("name", ["a b", "-x", "", "A", "a=b", "a\n"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        tokens({name: "x"})


def test_an_undeclared_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="'seasn' of espn is not accepted by this scraper; accepted: season"):
        tokens({"seasn": "x"}, ParameterSpec("season"))


def test_a_required_parameter_must_be_there() -> None:
    with pytest.raises(BadInput, match="'season' of espn is required"):
        tokens({}, ParameterSpec("season", is_required=True))


@pytest.mark.parametrize(
    "rules, good, bad",
    [
        (ParameterSpec("x", "integer"), 3, "3"),
        (ParameterSpec("x", "integer"), 3, True),
        (ParameterSpec("x", "list"), [1], 1),
        (ParameterSpec("x", choices=("a", "b")), "a", "c"),
        (ParameterSpec("x", pattern=r"\d{4}"), [2024], ["2024", "24"]),
    ],
)
def test_rules_of_a_parameter(rules: ParameterSpec, good: Any, bad: Any) -> None:
    assert tokens({"x": good}, rules)
    with pytest.raises(BadInput):
        tokens({"x": bad}, rules)


def test_a_parameter_in_two_spellings_is_refused() -> None:
    with pytest.raises(BadInput, match=r"game-ids.* twice"):
        tokens({"season": 1, "game_ids": 1, "game-ids": 2})


@pytest.mark.parametrize(
    "minutes, configured, expected",
    [(None, None, 300), (45, None, 2700), (45, 30, 2700), (None, 30, 30), (0, None, 10), (10**6, None, 86400)],
)
def test_the_time_limit(minutes: float | None, configured: float | None, expected: float) -> None:
    assert payload_for(ScraperSpec("a", timeout_s=configured), {}, "t", minutes).timeout_s == expected


def test_the_payload_of_a_scraper() -> None:
    spec = ScraperSpec("a", ("x"), ("sh", "x"), "/srv", retry=ScraperRetry(3, 2.0, 9.0), custom_settings={"k": 1})
    payload = payload_for(spec, {"season": "2024"}, "task_1")
    assert payload.argv == ("sh", "x", "--season", "2024")
    assert (payload.task_id, payload.cwd, payload.retry_base_s) == ("task_1", "/srv", 2.0)
    assert payload.env == {"CORRAL_SCRAPER_SETTINGS": '{"k": 1}'}
