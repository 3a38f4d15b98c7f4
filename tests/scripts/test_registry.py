"""Only exact names of scripts inside the root are found."""

import grp
import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest

from corral.domain.errors import BadConfiguration, CorralError, ScraperNotFound, ScriptNotRunnable
from corral.scripts.registry import ScraperRegistry


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    for folder in ("scripts/etl", "scripts/scrapers", "config"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def write(path: Path, text: str = "", mode: int = 0o644) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def load(root: Path, config: str = "") -> ScraperRegistry:
    file = root / "config/scraper_config.yaml"
    if config:
        file.write_text(config)
    return ScraperRegistry.load(file, root)


def code_of(registry: ScraperRegistry, name: str) -> str:
    with pytest.raises(CorralError) as refused:
        registry.find(name)
    return refused.value.code


def test_scripts_are_found_in_the_order_of_the_folders(root: Path) -> None:
    for folder in ("scripts/etl", "scripts/scrapers", "scripts"):
        write(root / folder / "espn.py")
    write(root / "scripts/scrapers/nba_api_scraper.py")
    write(root / "scripts/fetch", "#!/bin/sh\n", 0o755)
    registry = load(root)
    assert registry.names() == ("espn", "fetch", "nba_api_scraper")
    assert registry.find("espn").command == (sys.executable, str(root / "scripts/etl/espn.py"))
    assert registry.find("fetch").command == (str(root / "scripts/fetch"),)
    assert registry.find("espn").cwd == str(root)


def test_a_suffix_names_the_interpreter(root: Path) -> None:
    write(root / "scripts/a.sh")
    write(root / "scripts/b.sh", "#!/bin/sh\n", 0o755)
    write(root / "scripts/c.js")
    registry = load(root)
    assert Path(registry.find("a").command[0]).name == "sh"
    assert registry.find("b").command == (str(root / "scripts/b.sh"),)
    if shutil.which("node"):
        assert Path(registry.find("c").command[0]).name == "node"
    else:
        assert code_of(registry, "c") == "script_not_runnable"


def test_the_active_virtual_environment_executes_python_scripts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root / "scripts/a.py")
    (root / "venv/bin").mkdir(parents=True)
    python = write(root / "venv/bin/python", mode=0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(root / "venv"))
    assert load(root).find("a").command[0] == str(python)


def test_the_configuration_names_a_script(root: Path) -> None:
    write(root / "config/own.py")
    registry = load(root, "scrapers:\n  own: {script: config/own.py, timeout: 60}\n")
    assert registry.find("own").command[-1] == str(root / "config/own.py")
    assert registry.find("own").timeout_s == 60


@pytest.mark.parametrize(
    "name",
    ["../../etc/x", "/etc/passwd", "a;b", "-c", "a\0b", "a\u2024\u2024b", "ESPN", "a" * 300, "espn.py", "etl/espn", ""],
)
def test_a_strange_name_is_not_found(root: Path, name: str) -> None:
    write(root / "scripts/espn.py")
    assert code_of(load(root), name) == "scraper_not_found"


def test_an_unknown_scraper_says_where_it_looked_and_lists_no_others(root: Path) -> None:
    write(root / "scripts/etl/hoopr_async_scraper.py")
    with pytest.raises(ScraperNotFound) as refused:
        load(root).find("hoopr")  # no pattern matches a longer name
    assert refused.value.message == (
        "no scraper 'hoopr'; looked for scripts/etl/hoopr.py, scripts/scrapers/hoopr.py, scripts/hoopr.py"
    )


def test_a_missing_script_says_where_it_looked(root: Path) -> None:
    registry = load(root, "scrapers: {espn: , own: {script: x/own.py}}")
    assert code_of(registry, "espn") == code_of(registry, "own") == "script_missing"
    with pytest.raises(ScraperNotFound, match=r"looked for x/own\.py"):
        registry.find("own")


def test_a_file_that_appears_later_is_not_found(root: Path) -> None:
    registry = load(root)
    write(root / "scripts/late.py")
    assert code_of(registry, "late") == "scraper_not_found"


def test_a_script_outside_of_the_root_is_refused(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = write(tmp_path_factory.mktemp("outside") / "x.py")
    (root / "scripts/linked.py").symlink_to(outside)
    registry = load(root, f"scrapers: {{own: {{script: {outside}}}, up: {{script: ../{outside.parent.name}/x.py}}}}")
    assert code_of(registry, "linked") == code_of(registry, "own") == "script_not_runnable"
    assert code_of(registry, "up") in ("script_not_runnable", "script_missing")


def test_a_script_that_is_replaced_by_a_link_is_refused(root: Path) -> None:
    path = write(root / "scripts/a.py")
    registry = load(root)
    path.unlink()
    path.symlink_to("/bin/sh")
    assert code_of(registry, "a") == "script_not_runnable"


def test_a_script_that_its_private_group_can_change_is_accepted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root / "scripts/a.py", mode=0o664)
    owner = pwd.getpwuid(path.stat().st_uid)
    group = grp.struct_group((owner.pw_name, "x", path.stat().st_gid, [owner.pw_name]))
    monkeypatch.setattr("grp.getgrgid", lambda _: group)
    assert load(root).find("a").command


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o777])
def test_a_script_that_others_can_change_is_refused(root: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(root / "scripts/a.py", mode=mode)
    group = grp.struct_group(("team", "x", path.stat().st_gid, ["somebody", "else"]))
    monkeypatch.setattr("grp.getgrgid", lambda _: group)
    with pytest.raises(ScriptNotRunnable) as refused:
        load(root).find("a")
    assert "chmod go-w" in (refused.value.hint or "")


def test_what_is_no_regular_file_is_refused(root: Path) -> None:
    os.mkfifo(root / "config/pipe", 0o600)
    registry = load(root, "scrapers: {pipe: {script: config/pipe}, folder: {script: scripts}}")
    assert code_of(registry, "pipe") == code_of(registry, "folder") == "script_not_runnable"


def test_problems_of_the_file_are_named(root: Path) -> None:
    with pytest.raises(BadConfiguration) as refused:
        load(root, "scrapers: {A: {}, b: {timeout: no}}")
    assert len(refused.value.problems) == 2
    with pytest.raises(BadConfiguration, match="is no YAML"):
        load(root, "scrapers: [")


def test_keys_without_meaning_are_listed(root: Path) -> None:
    assert load(root, "global: {}\nscrapers: {a: {base_url: x}}").unused == ("global", "scrapers.a.base_url")


def test_without_a_configuration_the_folders_are_searched(root: Path) -> None:
    write(root / "scripts/a.py")
    assert ScraperRegistry.load(None, root).names() == ("a",)
