"""What workers that share a crawl know about templates."""

from corral.domain.crawl.templates.budget import TemplateBudget
from corral.domain.crawl.templates.tally import TrapLimits

LIMITS = TrapLimits(query_variants=5, barren_pages=3, templates=20, prints=4)


def test_a_host_that_another_worker_took_over_leaves_nothing_behind() -> None:
    def grow(budget: TemplateBudget) -> TemplateBudget:
        for _ in range(40):
            template = "b.test/maze/{n}"
            led_to = ["b.test/maze/{n}"] * 3 + ["b.test/author/{n}"]
            budget.observe(template, 7, led_to=led_to, found_on=template)
            budget.observe("b.test/author/{n}", 7, led_to=led_to, found_on=template)
        return budget

    alone, shared = TemplateBudget(LIMITS), grow(TemplateBudget(LIMITS))
    shared.forget({"b.test"})
    for budget in (alone, shared):
        budget.observe("a.test/x/{n}", 1, led_to=["a.test/x/{n}"], found_on="a.test/x/{n}")
    assert vars(shared) == {**vars(alone), "_tallies": shared._tallies}
    assert shared.document() == alone.document()


def test_the_knowledge_of_another_worker_is_bounded_too() -> None:
    document = TemplateBudget(LIMITS).document()
    known = TemplateBudget()
    for number in range(100):
        known.observe(f"example.com/{'abcdefghij'[number % 10]}{'klmnopqrst'[number // 10]}/x", number)
    budget = TemplateBudget.of(document, LIMITS)
    budget.take_over(known.document())
    assert len(budget.document()["templates"]) == LIMITS.templates
