"""The configuration files of sites, as `corral site show` and the start of a node see them."""

import pytest

from tests.cli.command import Corral


def write(corral: Corral, name: str, text: str) -> None:
    folder = corral.folder / "config/sites"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_each_value_of_a_site_is_shown_with_its_source(corral: Corral) -> None:
    write(corral, "defaults.yaml", "delay_s: 0.5\nbudget:\n  requests: 100\n")
    write(corral, "shop.test.yaml", "# the shop\nconcurrency: 2\nproxy_policy: http://user:canary@127.0.0.1:8080\n")
    told = corral.here("site", "show", "www.shop.test", "--json").json["config"]
    assert told["site"] == "shop.test"
    assert told["values"]["concurrency"] == {"value": 2, "source": "config/sites/shop.test.yaml:2"}
    assert told["values"]["delay_s"] == {"value": 0.5, "source": "config/sites/defaults.yaml:1"}
    assert told["values"]["budget.requests"] == {"value": 100, "source": "config/sites/defaults.yaml:3"}
    assert told["values"]["strategy"] == {"value": "auto", "source": "settings"}
    shown = corral.here("site", "show", "shop.test")
    assert "config/sites/shop.test.yaml:2" in shown.out
    assert "canary" not in shown.out + str(told)

    assert corral.here("site", "pace", "shop.test", "--delay", "3").code == 0
    values = corral.here("site", "show", "shop.test", "--json").json["config"]["values"]
    assert values["delay_s of shop.test"] == {"value": 3.0, "source": "pace of shop.test"}
    assert corral.here("site", "show", "unknown.test").code == 1


PROBLEMS = {
    "a.test.yaml": "concurrency: 0\ndelay_s: 1\ndelay_s: 2\n",
    "b.test.yaml": "delay_s: -1\nbudget:\n  money: 3\n",
    "c.test.yaml": "concurrency: [\n",
    "sub.d.test.yaml": "concurrency: 1\n",
    "e.test.yaml": "site: f.test\n",
    "f.test.yaml": "- a list\n",
    "g.test.yaml": "site: f.test\n",
    "defaults.yaml": "urls: []\n",
}


@pytest.mark.parametrize("verb", [("site", "show", "a.test"), ("up", "--port", "0")])
def test_every_problem_of_every_file_is_named_with_its_line(corral: Corral, verb: tuple[str, ...]) -> None:
    for name, text in PROBLEMS.items():
        write(corral, name, text)
    answer = corral.here(*verb) if verb[0] == "site" else corral(*verb)
    assert answer.code == 78
    assert "fix: correct it in config/sites/a.test.yaml" in answer.err
    for place in (
        "a.test.yaml, line 3: delay_s is written twice",
        "b.test.yaml, line 1: delay_s: must be a number",
        "b.test.yaml, line 3: budget.money",
        "c.test.yaml, line 2",
        "sub.d.test.yaml, line 1: 'sub.d.test' is a part of the site d.test",
        "f.test.yaml, line 1: must be a mapping",
        "g.test.yaml, line 1: f.test is also configured in config/sites/e.test.yaml",
        "defaults.yaml, line 1: is set per site",
    ):
        assert place in answer.err, place


def test_files_whose_sites_wait_for_each_other_are_refused(corral: Corral) -> None:
    write(corral, "a.test.yaml", "depends_on: [b.test]\n")
    write(corral, "b.test.yaml", "depends_on: [a.test]\n")
    refused = corral.here("site", "show", "a.test")
    assert refused.code == 78
    assert "a.test -> b.test -> a.test" in refused.err
