"""Definitions: every problem is named at once, and what was accepted keeps its meaning."""

from typing import Any

import pytest

from corral.domain.net.address import EgressPolicy
from corral.domain.workflows.access import DefinitionSource, check_source, find_trusted_hosts
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import InvalidWorkflow, WorkflowSpec, find_step_key
from corral.domain.workflows.templates.registry import TEMPLATES, fill_template
from tests.domain.workflows.builders import a_definition, a_diamond, a_step


def problems_of(document: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidWorkflow) as refused:
        parse_workflow(document)
    return refused.value.problems


def test_every_problem_is_named_at_once() -> None:
    problems = problems_of(
        {
            "name": " ",
            "color": "red",
            "max_recovery_attempts": -1,
            "steps": [
                {"key": "a", "kind": "pages", "max_retries": 11, "timeout": 0},
                {"key": "b", "kind": "selftest", "depends_on": ["x", "a", "a"], "size": 1},
                {"key": "b", "kind": "page", "config": []},
            ],
        }
    )
    told = "\n".join(problems)
    for part in (
        "'color' is no key of a definition",
        "the workflow has no name",
        "max_recovery_attempts is a number from 0 to 100, not -1",
        "a: there is no step kind 'pages'",
        "a: max_retries is a number from 0 to 10, not 11",
        "a: timeout is a number of seconds above 0",
        "b: 'size' is no key of a step",
        "b: depends on an unknown step 'x'",
        "b: depends on 'a' twice",
        "two steps have the name 'b'",
        "b: config is an object",
        "b: 'url' is missing in its config",
    ):
        assert part in told, part


@pytest.mark.parametrize(
    "document, problem",
    [
        ([], "a definition is an object"),
        (a_definition(), "has no steps"),
        (a_definition(*(a_step(f"s{n}") for n in range(101))), "101 steps; at most 100"),
        (a_definition(a_step("a", "b"), a_step("b", "c"), a_step("c", "a")), "in a circle: a -> b -> c -> a"),
        (a_definition(a_step("a", "a")), "in a circle: a -> a"),
        (a_definition({**a_step("a"), "depends_on": 1}, {**a_step("b"), "depends_on": 0}), "in a circle: a -> b -> a"),
        (a_definition(a_step("a", depends_on=True)), "depends_on is a list"),
        (a_definition(a_step("a"), a_step("b", dependencies=["a"])), "give one of them"),
        (a_definition(a_step("a", name="x"), a_step("a", name="y")), "two steps have the key 'a'"),
        (a_definition(a_step("a", name=5)), "name is a text"),
        (a_definition(a_step("a", name="n" * 201)), "longer than 200"),
        (a_definition(a_step("a", kind=["page"])), "there is no step kind"),
        (a_definition(a_step("a", config={"do": {1, 2}})), "not JSON"),
        (a_definition(a_step("item"), a_step("b", "item", for_each="${steps.item.output.n}")), "the key 'item'"),
        (a_definition(a_step("a"), a_step("b", when="${steps.a.output.n} > 0")), "not among its dependencies"),
        (a_definition(a_step("a", when="n > 0")), "is no condition"),
        (a_definition(a_step("a", config={"do": "${item}"})), "needs for_each"),
        (a_definition(a_step("a", config={"do": "${steps.z.output}"})), "names an unknown step"),
        (a_definition(a_step("a", config={"do": "${params.x}"})), "a parameter of a template that was not given"),
        (a_definition(a_step("a", config={"do": "${secret}"})), "begins with none of steps, item, index, params"),
        (a_definition(a_step("a"), a_step("b", "a", for_each="x")), "for_each is one reference to a list"),
        (a_definition(a_step("a", allow_failures=True)), "allow_failures needs for_each"),
        (a_definition(a_step("a", config={"verb": 1})), "'verb' is no option of kind selftest"),
        (a_definition({"key": "a", "kind": "page", "config": {"url": "ftp://x"}}), "'fields' is missing"),
        (a_definition({"key": "a", "kind": "page", "config": {"url": "ftp://x", "fields": ["t"]}}), "url: "),
        (a_definition({"key": "a", "kind": "crawl", "config": {}}), "either url or urls"),
        (a_definition({"key": "a", "kind": "crawl", "config": {"url": "http://x/", "dept": 1}}), "not a crawl option"),
        (
            a_definition({"key": "a", "kind": "crawl", "config": {"url": "ftp://x", "max_pages": 0, "max_depth": "x"}}),
            "a: start_urls[0]: the scheme 'ftp' is not fetched; a: max_pages: max_pages must be",
        ),
        (a_definition({"key": "a", "kind": "export", "config": {"run_id": "x", "output": "../x.csv"}}), "without .."),
        (a_definition({"key": "a", "kind": "export", "config": {"run_id": "x", "output": "x.pdf"}}), "is no format"),
        (a_definition({"key": "a", "kind": "python", "config": {"function": "os.system"}}), "module:function"),
        (a_definition({"key": "a", "kind": "webhook", "config": {"url": "x", "headers": {"a": 1}}}), "headers"),
        (a_definition({"key": "a", "kind": "script", "config": {"scraper": "x", "params": []}}), "params is an object"),
        (a_definition({"key": "a", "kind": "reconcile", "config": {"sources": "x"}}), "sources is a list"),
    ],
)
def test_a_bad_definition_is_refused(document: Any, problem: str) -> None:
    assert problem in "; ".join(problems_of(document))


def test_problems_of_the_graph_do_not_hide_those_of_configurations_and_references() -> None:
    told = problems_of(
        a_definition(
            a_step("a", "b"),
            a_step("b", "a"),
            a_step("c", "d", config={"do": "${steps.a.output}"}),
            a_step("d", "c"),
            {"key": "e", "kind": "page", "depends_on": ["x"], "config": {"url": "ftp://x", "fields": ["t"]}},
        )
    )
    for part in ("a -> b -> a", "c -> d -> c", "c: ${steps.a.output} names a step that is not", "step 'x'", "e: url:"):
        assert any(part in problem for problem in told), (part, told)


def test_keys_follow_from_names_of_any_language() -> None:
    names = ["下载", "验证", "Fetch all!", "fetch-all", "step 0"]
    steps = [{"name": name, "kind": "selftest"} for name in names]
    spec = parse_workflow(a_definition(*steps, {"name": "end", "kind": "selftest", "depends_on": ["验证", 3]}))
    assert [step.key for step in spec.steps] == ["step_0", "step_1", "fetch_all", "fetch_all_2", "step_0_2", "end"]
    assert spec.steps[-1].depends_on == ("step_1", "fetch_all_2")


def test_a_stored_definition_is_read_although_it_breaks_a_newer_rule() -> None:
    spec = parse_workflow(a_definition(a_step("a")))
    document = spec.document()
    document["steps"][0]["config"] = {"gone": 1}
    with pytest.raises(InvalidWorkflow):
        parse_workflow(document)
    assert WorkflowSpec.read(document).steps[0].config == {"gone": 1}


def test_dependencies_are_keys_names_or_indices() -> None:
    spec = parse_workflow(
        a_definition(
            {"name": "Download Images", "kind": "selftest"},
            {"name": "Validate", "kind": "selftest", "dependencies": [0]},
            {"name": "Label", "kind": "selftest", "depends_on": ["Download Images", "validate"]},
        )
    )
    assert [step.key for step in spec.steps] == ["download_images", "validate", "label"]
    assert [step.depends_on for step in spec.steps] == [(), ("download_images",), ("download_images", "validate")]
    assert [find_step_key(spec, each) for each in (0, "1", "Label", "validate")] == [
        "download_images", "validate", "label", "validate",
    ]  # fmt: skip


def test_what_was_parsed_is_written_and_read_the_same() -> None:
    given = a_definition(
        a_step("a", timeout=5, estimated_duration=10, type="download"),
        a_step("b", "a", when="${steps.a.output.n} > 0", max_retries=0),
        a_step("c", "a", for_each="${steps.a.output.urls}", allow_failures=True),
        max_recovery_attempts=7,
    )
    spec = parse_workflow(given)
    again = parse_workflow(spec.document())
    assert again == spec == WorkflowSpec.read(spec.document())
    assert again.digest == spec.digest
    assert parse_workflow(a_diamond()).digest != spec.digest


def test_only_hosts_that_a_person_wrote_are_trusted() -> None:
    spec = parse_workflow(
        a_definition(
            {"key": "a", "kind": "crawl", "config": {"urls": ["http://127.0.0.1:8/", "http://b.test/"]}},
            {"key": "b", "kind": "webhook", "config": {"url": "${steps.a.output.record.url}"}, "depends_on": ["a"]},
        )
    )
    assert find_trusted_hosts(spec) == ("127.0.0.1", "b.test")


def test_a_definition_over_http_names_no_code_and_no_private_host() -> None:
    spec = parse_workflow(
        a_definition(
            {"key": "code", "kind": "python", "config": {"function": "os:getcwd"}},
            {"key": "ours", "kind": "python", "config": {"function": "steps.images:label"}},
            {"key": "inside", "kind": "crawl", "config": {"url": "http://127.0.0.1/"}},
            a_step("kill"),
            {"key": "here", "kind": "local", "config": {"handler": "f"}},
        )
    )
    with pytest.raises(InvalidWorkflow) as refused:
        check_source(spec, DefinitionSource(over_http=True, modules=("steps",)), EgressPolicy(()))
    assert [problem.partition(":")[0] for problem in refused.value.problems] == ["code", "inside", "kill", "here"]
    with pytest.raises(InvalidWorkflow, match="kind local"):
        check_source(spec, DefinitionSource(), EgressPolicy(()))
    check_source(spec, DefinitionSource(has_handlers=True), EgressPolicy(()))


def test_every_template_makes_a_valid_definition() -> None:
    given: dict[str, dict[str, Any]] = {
        "crawl-then-export": {"url": "https://example.com/", "fields": ["title"]},
        "many-sites": {"sites": ["https://a.example/", "https://b.example/"], "max_pages": 5},
        "reconcile-and-fill": {},
    }
    for name, parameters in given.items():
        assert parse_workflow(fill_template(name, parameters)).steps, name
    assert given.keys() <= TEMPLATES.keys()


def test_bad_parameters_of_a_template_are_named_at_once() -> None:
    with pytest.raises(InvalidWorkflow) as refused:
        fill_template("many-sites", {"sites": [["https://a.example/"]]})
    assert "sites is a list" in str(refused.value)
    with pytest.raises(InvalidWorkflow) as refused:
        fill_template("crawl-then-export", {"max_depth": "deep", "urls": []})
    told = "; ".join(refused.value.problems)
    for part in ("no parameter 'urls'", "needs the parameter url", "max_depth is a number"):
        assert part in told
