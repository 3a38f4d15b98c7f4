"""`python -m eval.mutations [--seeds N] [--first-seed N]`: detection of broken data, and false alarms on good data."""

import argparse
import random
from collections import Counter
from dataclasses import dataclass, field

from corral.domain.quality.judge import DataVerdict, judge
from corral.domain.quality.profile import Profile, observe
from corral.domain.quality.thresholds import Thresholds
from eval.mutations.pages import MUTATIONS, Site, read, render
from eval.mutations.templates import Template, make_templates

MIN_DETECTION = 0.95
MAX_FALSE_ALARMS = 0.01
_HISTORY_RUNS = 8


@dataclass
class MutationFigures:
    tried: Counter[str] = field(default_factory=Counter)
    detected: Counter[str] = field(default_factory=Counter)
    good_runs: int = 0
    false_alarms: int = 0
    misses: list[str] = field(default_factory=list)

    @property
    def detection(self) -> float:
        return self.detected.total() / self.tried.total()

    @property
    def false_alarm_rate(self) -> float:
        return self.false_alarms / self.good_runs


def measure(seeds: range, good_runs: int) -> MutationFigures:
    """Judge every mutation of every template, and runs of the same sites without a mutation."""
    figures = MutationFigures()
    for seed in seeds:
        for template in make_templates():
            site, history = Site(template, seed), Profile()
            for _ in range(_HISTORY_RUNS):
                history.merge(_observe(template, [render(template, values) for values in site.visit()]))
            _measure_mutations(figures, template, site, history, seed)
            for _ in range(good_runs):
                verdict = _judge(template, history, [render(template, values) for values in site.visit()])
                figures.good_runs += 1
                if not verdict.is_ok:
                    figures.false_alarms += 1
                    figures.misses.append(f"false alarm: {template.name} {verdict.findings}")
    return figures


def _measure_mutations(figures: MutationFigures, template: Template, site: Site, history: Profile, seed: int) -> None:
    for name, mutate in MUTATIONS.items():
        run = site.visit()
        pages = mutate(random.Random(f"{seed}:{template.name}:{name}"), template, run)
        if not pages or read(template, pages) == read(template, [render(template, values) for values in run]):
            continue  # it does not apply here, or the selectors and types cope with it: the data is right
        figures.tried[name] += 1
        if _judge(template, history, pages).is_ok:
            figures.misses.append(f"not detected: {name} on {template.name}")
        else:
            figures.detected[name] += 1


def _observe(template: Template, pages: list[str]) -> Profile:
    required = [spec.name for spec in template.specs if not spec.optional]
    optional = [spec.name for spec in template.specs if spec.optional]
    return observe(read(template, pages), required, optional)


def _judge(template: Template, history: Profile, pages: list[str]) -> DataVerdict:
    return judge(history, _observe(template, pages), Thresholds())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m eval.mutations", description="Verdicts on broken and good data.")
    parser.add_argument("--seeds", type=int, default=3, help="sites of each template")
    parser.add_argument("--first-seed", type=int, default=0, help="the first of them; rules are tuned on 0 to 9")
    parser.add_argument("--good-runs", type=int, default=12, help="runs of each site without a mutation")
    options = parser.parse_args(argv)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    figures = measure(seeds, options.good_runs)
    for name, tried in figures.tried.items():
        print(f"{name:24}{figures.detected[name]:6}/{tried}")
    print(f"\n{len(figures.misses)} misses")
    for miss in figures.misses:
        print(f"  {miss}")
    print(f"\ndetection {figures.detection:.3f} of {figures.tried.total()} broken runs")
    print(f"false alarms {figures.false_alarm_rate:.4f} of {figures.good_runs} good runs")
    is_good = figures.detection >= MIN_DETECTION and figures.false_alarm_rate <= MAX_FALSE_ALARMS
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
