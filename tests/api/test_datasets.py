"""A dataset build over HTTP, on SQLite and on PostgreSQL with Redis and Celery."""

import json
import shutil
from typing import Any
from uuid import uuid4

from tests.api.workflow_waits import wait_for
from tests.stack import Stack

STEPS = ["discover", "download", "validate", "deduplicate", "label", "export", "report", "clean_up"]


def a_config(stack: Stack, folder: str, **options: Any) -> dict[str, Any]:
    return {
        "dataset_name": "paddock",
        "categories": {"horses": ["horse"], "goats": ["goat"], "hens": ["hen"]},
        "sources": [{"type": "crawl", "urls": [f"{stack.site}/gallery"], "depth": 1}],
        "options": {"output_dir": folder, "image_size": 64, "export": ["folders", "webdataset"], **options},
    }


def build(stack: Stack, config: dict[str, Any]) -> dict[str, Any]:
    answer = stack.client.post("/workflows", json={"template": "dataset-build", "parameters": {"config": config}})
    assert answer.status_code == 201, answer.text
    return wait_for(stack, answer.json()["id"], "completed", "failed", "partial")


def test_a_build_over_http_goes_through_every_step_and_a_second_one_requests_nothing_again(stack: Stack) -> None:
    folder = f"paddock-{uuid4().hex[:8]}"
    done = build(stack, a_config(stack, folder))
    tasks = {task["key"]: task for task in done["tasks"]}
    assert list(tasks) == STEPS
    assert {task["status"] for task in tasks.values()} == {"completed"}, done
    export = tasks["export"]["result"]
    assert (export["images"], export["left_out"]) == (30, {"quarantined:truncated": 3})
    out = stack.data_dir / "exports" / folder
    about = json.loads((out / "manifest.json").read_text())
    assert about["manifest_sha256"] == export["manifest_sha256"]
    assert len(list(out.glob("images/*/*.jpg"))) == 30
    assert (out / "report.html").is_file()
    # The rows are in the database and the bytes in packs: the dataset can be written again without a request.
    shutil.rmtree(out)
    again = build(stack, a_config(stack, folder))
    tasks = {task["key"]: task for task in again["tasks"]}
    assert tasks["download"]["result"]["settled"] == 0
    assert tasks["export"]["result"]["manifest_sha256"] == about["manifest_sha256"]
    assert len(list(out.glob("images/*/*.jpg"))) == 30


def test_a_build_over_http_may_neither_read_files_nor_execute_code_nor_leave_its_folder(stack: Stack) -> None:
    for source, options, told in (
        ({"type": "urls", "file": "/etc/passwd"}, {}, "reads a file or executes code"),
        ({"type": "command", "command": ["true"]}, {}, "reads a file or executes code"),
        ({"type": "python", "function": "os:listdir"}, {}, "reads a file or executes code"),
        ({"type": "urls", "urls": ["http://10.0.0.1/a.jpg"]}, {}, "10.0.0.1"),
        ({"type": "urls", "urls": ["https://example.com/a.jpg"]}, {"output_dir": "../out"}, "options.output_dir"),
        ({"type": "urls", "urls": ["https://example.com/a.jpg"]}, {"output_dir": "/tmp/out"}, "options.output_dir"),
        ({"type": "urls", "urls": ["https://example.com/a.jpg"]}, {"quality": 0}, "options.quality"),
    ):
        config = a_config(stack, "refused") | {"sources": [source], "options": options}
        answer = stack.client.post("/workflows", json={"template": "dataset-build", "parameters": {"config": config}})
        assert answer.status_code == 422, answer.text
        assert told in answer.text
