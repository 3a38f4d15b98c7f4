"""`corral scrape --cache`: what was fetched once is had again without the site."""

from pathlib import Path

from tests.cli.command import Corral
from tests.stack import demo_site


def test_a_replay_needs_the_site_only_once(tmp_path: Path) -> None:
    corral = Corral(tmp_path)
    with demo_site() as site:
        asked = ("scrape", f"{site}/articles", "--fields", "title", "--json")
        first = corral(*asked, "--cache", "replay")
        assert (first.code, first.json["run"]["stats"]["cache"]) == (0, "miss"), first.err
        plain = corral(*asked)
        assert "cache" not in plain.json["run"]["stats"]
        refused = corral(*asked, "--cache", "sometimes")
        assert refused.code == 2
    again = corral(*asked, "--cache", "replay")
    assert (again.code, again.json["run"]["stats"]["cache"]) == (0, "hit"), again.err
    assert again.json["records"] == first.json["records"]
    assert again.json["run"]["stats"]["cost"] == 0
    gone = corral(*asked, "--max-attempts", "1")
    assert gone.code == 1, "without the cache there is nobody to ask"
