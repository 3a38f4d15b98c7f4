"""A project as the seed has it: scripts, a scraper configuration and a queue file."""

import json
from pathlib import Path
from typing import Any

SCRIPTS = {
    "games_scraper": """
import argparse, json, pathlib, time
parser = argparse.ArgumentParser()
parser.add_argument("--season")
parser.add_argument("--game-ids", default="")
parser.add_argument("--seconds", type=float, default=0)
options = parser.parse_args()
with open("starts.txt", "a") as log:
    log.write(f"{time.time()} {options.game_ids}\\n")
time.sleep(options.seconds)
for game in options.game_ids.split(","):
    print(json.dumps({"season": options.season, "game": game}))
with open("ends.txt", "a") as log:
    log.write(f"{time.time()} {options.game_ids}\\n")
""",
    "broken_scraper": """
import sys
print("Error: API rate limit exceeded", file=sys.stderr)
sys.exit(1)
""",
}
CONFIG = "scrapers:\n  games_scraper: {}\n  broken_scraper: {retry: {max_attempts: 2, base_delay: 0.05}}\n"


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        scripts = folder / "scripts/etl"
        scripts.mkdir(parents=True)
        for name, text in SCRIPTS.items():
            (scripts / f"{name}.py").write_text(text)
            (scripts / f"{name}.py").chmod(0o644)
        (folder / "config").mkdir()
        self.configure(CONFIG)

    def configure(self, text: str) -> None:
        (self.folder / "config/scraper_config.yaml").write_text(text)

    def write_queue(self, *tasks: Any, name: str = "inventory/gaps.json") -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"total_tasks": len(tasks), "tasks": tasks}))
        return path

    def starts(self) -> list[str]:
        return self._read("starts.txt")

    def ends(self) -> list[str]:
        return self._read("ends.txt")

    def _read(self, name: str) -> list[str]:
        path = self.folder / name
        return [line.split(" ", 1)[1] for line in path.read_text().splitlines()] if path.exists() else []


def task(number: int, priority: str = "HIGH", scraper: str = "games_scraper", **params: Any) -> dict[str, Any]:
    given = {"season": "2024-25", "game_ids": [number], **params} if scraper == "games_scraper" else params
    return {"id": f"task_{number:06}", "priority": priority, "source": "espn", "scraper": scraper, **given}
