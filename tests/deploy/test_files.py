"""What cannot be run here is at least read, and compared with what there is."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corral.settings import Settings
from tests.deploy.files import (
    DOCKERFILE,
    SECRETS,
    UNITS,
    MissingVariable,
    check_corral,
    compose,
    instructions,
    services,
)
from tests.shape.files import ROOT

OURS = ("api", "worker", "beat")
_SETTINGS = {f"APP_{name.upper()}" for name in Settings.model_fields}


# -- compose.yaml --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SECRETS)
def test_there_is_no_default_for_a_secret(name: str) -> None:
    with pytest.raises(MissingVariable, match=name):
        compose({key: value for key, value in SECRETS.items() if key != name})


def test_every_variable_is_a_setting_and_the_settings_are_good(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS:
        given = services()[name]["environment"]
        assert {key for key in given if key.startswith("APP_")} <= _SETTINGS
        for key, value in given.items():
            monkeypatch.setenv(key, value)
        settings = Settings()
        assert (settings.transport.value, settings.database_url) == (
            "celery",
            "postgresql://corral:of-postgres@postgres:5432/corral",
        )


def test_every_command_and_health_check_is_one_that_corral_takes() -> None:
    for name in ("api", "worker"):
        check_corral(services()[name]["command"])
        kind, *check = services()[name]["healthcheck"]["test"]
        assert kind == "CMD"
        check_corral(check)
    ports = services()["api"]["ports"]
    assert ports == ["127.0.0.1:8000:8000"], "the machine itself only"
    assert services()["api"]["command"][-1] == services()["api"]["healthcheck"]["test"][-1] == "8000"


def test_the_time_is_kept_in_one_place() -> None:
    keepers = [name for name, each in services().items() if {"beat", "--beat"} & set(map(str, each.get("command", ())))]
    assert keepers == ["beat"]
    assert "deploy" not in services()["beat"]
    assert services({**SECRETS, "CORRAL_WORKERS": "3"})["worker"]["deploy"]["replicas"] == 3


def test_whoever_needs_something_waits_until_it_is_well() -> None:
    all_services = services()
    for each in all_services.values():
        for need, how in each.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert "test" in all_services[need]["healthcheck"]
    assert {need for name in OURS for need in all_services[name]["depends_on"]} == {"postgres", "redis", "api"}
    # Nobody from outside reaches the stores.
    assert all(all_services[name]["networks"] == ["inside"] for name in ("postgres", "redis"))
    assert compose(SECRETS)["networks"]["inside"] == {"internal": True}


def test_redis_refuses_rather_than_forgets() -> None:
    assert "--maxmemory-policy noeviction" in services()["redis"]["command"][-1]


# -- Dockerfile ----------------------------------------------------------------------------------------


def test_what_the_image_is_made_of_is_there() -> None:
    assert instructions()[0] == ("FROM", "python:3.11-slim")
    copied = [source for name, rest in instructions() if name == "COPY" for source in rest.split()[:-1]]
    assert {"requirements.lock", "src", "pyproject.toml"} <= set(copied)
    ignored = (ROOT / ".dockerignore").read_text().split()
    for source in copied:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored, "what is not sent to the builder cannot be copied"


def test_the_image_takes_pinned_files_only_and_runs_as_nobody_in_particular() -> None:
    installs = [rest for name, rest in instructions() if name == "RUN" and "pip install" in rest]
    assert "--require-hashes -r requirements.lock" in installs[0]
    assert all("--require-hashes" in each or "--no-deps --no-build-isolation" in each for each in installs)
    names = [name for name, _ in instructions()]
    [user] = [rest for name, rest in instructions() if name == "USER"]
    assert user == "corral"
    assert names.index("USER") < names.index("CMD")
    assert "chromium-headless-shell" in DOCKERFILE.read_text()


def test_the_commands_of_the_image_are_ones_that_corral_takes() -> None:
    told = dict(instructions())
    check_corral(json.loads(told["CMD"]))
    check_corral(json.loads(told["HEALTHCHECK"].partition("CMD ")[2]))


# -- systemd -------------------------------------------------------------------------------------------


def unit(path: Path) -> configparser.RawConfigParser:
    parsed = configparser.RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read(path)
    return parsed


def test_there_are_units_for_every_part() -> None:
    assert [path.name for path in UNITS] == ["corral-api.service", "corral-beat.service", "corral-worker@.service"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_what_there_is_and_may_do_little(path: Path) -> None:
    service = unit(path)["Service"]
    command = shlex.split(service["ExecStart"])
    if command[0].endswith("/corral"):
        check_corral(command)
    else:
        assert command[:3] == ["/opt/corral/.venv/bin/celery", "-A", "corral.celery_app"]
    assert service["User"] == "corral"
    assert service["RestartPreventExitStatus"] == "78", "bad settings do not get better by starting again"
    assert service["Restart"] == "on-failure", "75 is a failure, too"
    for rule in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictSUIDSGID", "ProtectControlGroups"):
        assert service[rule] == "yes"
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")
    assert f"APP_DATA_DIR=/var/lib/{service['StateDirectory']}" == service["Environment"]
    stop_s = int(service["TimeoutStopSec"])
    assert stop_s > Settings.model_fields["shutdown_grace_seconds"].default


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    for path in UNITS:
        text = path.read_text().replace("/opt/corral/.venv/bin/", f"{programs}/")
        (tmp_path / path.name).write_text(text)
    names = [re.sub("@", "@1", path.name) for path in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
