"""Execute a dataset build as a run, in a worker process that reaches the database through its node."""

import asyncio
import time
from pathlib import Path
from typing import Any

from corral.datasets.called_store import BuildStore
from corral.datasets.context import BuildContext
from corral.datasets.discover import discover
from corral.datasets.download import Downloader
from corral.datasets.exports.writer import check_writable
from corral.datasets.judge import deduplicate, validate
from corral.datasets.outputs import clean_up, write_exports, write_labels
from corral.datasets.packs import PackFolder
from corral.datasets.report import write_report
from corral.domain.datasets.config import DatasetConfig, fingerprint, parse_config
from corral.domain.datasets.image import LEFT_OUT, describe_state
from corral.domain.datasets.payload import DatasetPayload
from corral.domain.datasets.steps import ALL_STEPS, DatasetStep
from corral.domain.errors import BadConfiguration
from corral.domain.ports.datasets import ImageFetcher
from corral.domain.ports.execution import Notify, StoreCall, Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.files.build_folders import hold_build
from corral.images.pool import DecoderError, ImagePool

_NOTIFY_EVERY_S = 0.25
# Notes of discovery that follow from the configuration: they are no omissions.
_EXPECTED_NOTES = ("no_category", "no_page:")


class DatasetRunner:
    def __init__(self, fetcher: ImageFetcher, pool: ImagePool, folder: Path) -> None:
        self._fetcher = fetcher
        self._pool = pool
        self._folder = folder

    async def execute(self, task: Task, call: StoreCall, notify: Notify) -> Outcome:
        payload = task.payload.read(DatasetPayload)
        try:
            config = parse_config(payload.config, "the configuration")
            steps = payload.chosen_steps
        except (BadConfiguration, ValueError) as error:
            return Failed(FailureCode.POLICY, str(error)[:2000], "config")
        if any(source.executes_code for source in config.sources) and not payload.may_execute:
            why = "sources of type command and python are only executed for a build that is started at the terminal"
            return Failed(FailureCode.POLICY, why, "command")
        build = build_key(config, Path(payload.root))
        folder = self._folder / build
        try:
            with hold_build(folder):
                return await self._build(task, config, steps, call, notify)
        except BlockingIOError:
            return Failed(FailureCode.POLICY, f"another run builds {config.name} in the same folder", "busy")
        except DecoderError as error:
            return Failed(FailureCode.UNKNOWN, str(error)[:1000], "decoder")
        except OSError as error:
            return Failed(FailureCode.LIMIT, f"the dataset cannot be written: {error}"[:1000], "disk")

    async def _build(
        self,
        task: Task,
        config: DatasetConfig,
        steps: tuple[DatasetStep, ...],
        call: StoreCall,
        notify: Notify,
    ) -> Outcome:
        payload = task.payload.read(DatasetPayload)
        build = build_key(config, Path(payload.root))
        store = BuildStore(call, build)
        packs = PackFolder(self._folder / build / "packs")
        progress = await store.open(config.name, task.run_id)
        context = BuildContext(
            config,
            store,
            packs,
            self._fetcher,
            self._pool,
            task.run_id,
            Path(payload.root),
            frozenset(payload.trusted_hosts),
            progress,
        )
        await asyncio.to_thread(check_writable, context.output)
        stats: dict[str, Any] = {"dataset": config.name, "folder": str(context.output), "steps": {}}
        try:
            for step in steps:
                began = time.monotonic()
                context.report = _Progress(notify, stats, step).report
                context.report(0, 0)
                stats["steps"][step.value] = await perform_step(step, context) | {
                    "seconds": round(time.monotonic() - began, 3)
                }
        finally:
            packs.close()
        return await _outcome(context, stats)


async def perform_step(step: DatasetStep, context: BuildContext) -> dict[str, Any]:
    """Execute one step and return its result. Repeating a step changes nothing."""
    match step:
        case DatasetStep.DISCOVER:
            context.notes.clear()
            images = await discover(context)
            context.progress["discovery"] = dict(context.notes)
            await context.store.note(context.progress)
            return {"images": images, "left_out": dict(context.notes)}
        case DatasetStep.DOWNLOAD:
            settled = await Downloader(context).run()
            context.progress["downloads"] = context.progress.get("downloads", 0) + 1
            await context.store.note(context.progress)
            return {"settled": settled}
        case DatasetStep.VALIDATE:
            return {"quarantined": await validate(context)}
        case DatasetStep.DEDUPLICATE:
            return {"duplicates": await deduplicate(context), **context.details.get("deduplicate", {})}
        case DatasetStep.LABEL:
            return {"files": await write_labels(context)}
        case DatasetStep.EXPORT:
            return await write_exports(context)
        case DatasetStep.REPORT:
            context.notes = dict(context.progress.get("discovery", {}))
            return {"file": await write_report(context)}
        case DatasetStep.CLEAN_UP:
            return {"packs_removed": await clean_up(context)}


def build_key(config: DatasetConfig, root: Path) -> str:
    """Return the key of a build: one dataset in one folder, to which later runs add."""
    return fingerprint([config.name, str((root / config.options.output_dir).absolute())])[:24]


async def _outcome(context: BuildContext, stats: dict[str, Any]) -> Outcome:
    counts = describe_state(await context.store.count_images())
    stats |= counts
    discovery = context.progress.get("discovery", {})
    left_out = {f"discover:{name}": count for name, count in discovery.items() if not name.startswith(_EXPECTED_NOTES)}
    states = {state.value for state in LEFT_OUT}
    left_out |= {reason: count for reason, count in counts["reasons"].items() if reason.partition(":")[0] in states}
    stats["left_out"] = left_out
    if DatasetStep.EXPORT.value in stats["steps"] and not stats["steps"]["export"]["images"]:
        return Failed(FailureCode.EXTRACTION, "no image is left for the dataset", "empty", stats=stats)
    return Fetched(stats=stats, problems={"left_out": left_out} if left_out else None)


class _Progress:
    """Reports the progress of a step to the node, at most four times a second."""

    def __init__(self, notify: Notify, stats: dict[str, Any], step: DatasetStep) -> None:
        self._notify = notify
        self._stats = stats
        self._about = {"step": step.value, "step_number": ALL_STEPS.index(step) + 1, "step_count": len(ALL_STEPS)}
        self._began = time.monotonic()
        self._next = 0.0

    def report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _NOTIFY_EVERY_S
        rate = done / (now - self._began) if done and now > self._began else 0.0
        eta_s = round((total - done) / rate, 1) if rate and total > done else None
        self._notify({**self._stats, **self._about, "done": done, "total": total, "eta_s": eta_s})
