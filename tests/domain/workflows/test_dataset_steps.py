"""The steps of a dataset build: what a definition over HTTP may not do, and where it writes."""

from typing import Any

import pytest

from corral.domain.datasets.payload import DatasetPayload
from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.workflows.access import DefinitionSource, check_source, find_trusted_hosts
from corral.domain.workflows.kinds.dataset import DATASET_STEP
from corral.domain.workflows.kinds.spec import StepContext
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import InvalidWorkflow, WorkflowSpec
from corral.domain.workflows.templates.registry import fill_template

POLICY = EgressPolicy(())
PAGES = {"type": "pages", "urls": ["https://example.com/"]}


def config(*sources: dict[str, Any], **options: Any) -> dict[str, Any]:
    listed = list(sources or [PAGES])
    return {"dataset_name": "pets", "categories": {"cats": []}, "sources": listed, "options": options}


def workflow(document: dict[str, Any]) -> WorkflowSpec:
    return parse_workflow(fill_template("dataset-build", {"config": document}))


def test_the_template_has_the_steps_in_order() -> None:
    spec = workflow(config())
    assert [step.key for step in spec.steps][:3] == ["discover", "download", "validate"]
    assert [step.depends_on for step in spec.steps][:2] == [(), ("discover",)]


@pytest.mark.parametrize(
    "document, said",
    [
        (config({"type": "urls", "file": "/etc/passwd"}), "reads a file or executes code"),
        (config({"type": "command", "command": ["id"]}), "reads a file or executes code"),
        (config({"type": "python", "function": "os:system"}), "reads a file or executes code"),
        (config(output_dir="/srv"), "below the folder of exports"),
        (config(output_dir="a/../../b"), "below the folder of exports"),
        (config({"type": "pages", "urls": ["http://127.0.0.1/"]}), "url: "),
    ],
)
def test_over_http_no_files_no_code_and_no_private_hosts(document: dict[str, Any], said: str) -> None:
    spec = workflow(document)
    check_source(spec, DefinitionSource(), POLICY)
    with pytest.raises(InvalidWorkflow) as caught:
        check_source(spec, DefinitionSource(over_http=True), POLICY)
    assert said in str(caught.value.problems)


def test_hosts_that_a_person_wrote_are_trusted() -> None:
    search = {"type": "search", "url": "http://10.0.0.1:81/?q={keyword}"}
    assert find_trusted_hosts(workflow(config(PAGES, search))) == ("example.com", "10.0.0.1")


@pytest.mark.parametrize("is_typed, root", [(True, "/home/me"), (False, "/data/exports")])
def test_where_a_build_writes_depends_on_who_asked(is_typed: bool, root: str) -> None:
    setup = {"cwd": "/home/me", "exports": "/data/exports", "is_typed": is_typed}
    context = StepContext("w", "download", -1, {}, None, ("example.com",), setup)
    child = DATASET_STEP.make_child({"dataset": config(), "step": "download"}, context)
    payload = child.payload
    assert isinstance(payload, DatasetPayload)
    assert (payload.root, payload.steps, payload.may_execute) == (root, ("download",), is_typed)
    assert DatasetPayload.parse(payload.document()) == payload


def test_a_step_is_checked() -> None:
    found = DATASET_STEP.find_problems({"dataset": {"dataset_name": "x"}, "step": "paint"})
    assert "step is 'paint'" in found[0]
    assert any("categories is missing" in problem for problem in found)


def test_text_that_looks_like_a_reference_does_not_hide_what_is_not_allowed_over_http() -> None:
    document = {**config({"type": "urls", "file": "/etc/passwd"}), "categories": {"cats": ["${found}"]}}
    context = StepContext("w", "download", -1, {}, None, (), {"exports": "/data/exports", "is_typed": False})
    with pytest.raises(BadInput, match="reads a file or executes code"):
        DATASET_STEP.make_child({"dataset": document, "step": "download"}, context)


def test_a_step_has_the_timeout_of_its_definition() -> None:
    child = DATASET_STEP.make_child({"dataset": config(), "step": "download"}, StepContext("w", "a", -1, {}, 7.0))
    assert child.payload.document()["timeout_s"] == 7.0
