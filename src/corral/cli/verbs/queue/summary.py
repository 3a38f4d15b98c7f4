"""What `corral queue run` prints before and after the tasks."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from corral.cli import exits
from corral.cli.render import printable
from corral.domain.jobs.job import Priority
from corral.domain.queue.task import ImportReport, QueueFile, QueueTask
from corral.wiring.queue import QueueOrder

_LINE = "=" * 80
_SHOWN = 20


def print_head(order: QueueOrder, tasks: Sequence[QueueTask], *, dry_run: bool) -> None:
    bands = Counter(task.priority for task in tasks)
    print(_LINE)
    print(f"Task queue: {order.task_queue}")
    print(f"Total tasks: {len(tasks)}")
    print("  " + ", ".join(f"{band.name.capitalize()}: {bands[band]}" for band in Priority))
    print(f"Max concurrent: {order.max_concurrent}")
    if dry_run:
        print("Dry run: nothing is executed")
    print(_LINE, flush=True)


def print_import(report: ImportReport | None, file: QueueFile) -> None:
    for each in file.malformed[:_SHOWN]:
        name = f" ({printable(each.id)})" if each.id else ""
        exits.complain(f"entry {each.index}{name} was left out: {each.reason}")
    if len(file.malformed) > _SHOWN:
        exits.complain(f"{len(file.malformed) - _SHOWN} more entries were left out")
    for note in file.notes:
        exits.complain(note)
    if report is not None and report.busy:
        exits.complain(
            f"{len(report.busy)} tasks changed while their former version is executed: {', '.join(report.busy[:5])}",
            "run the queue again when they have ended",
        )


def print_summary(stats: dict[str, Any]) -> None:
    total, seconds = stats["total_tasks"], stats["duration_seconds"]
    print(_LINE)
    print("EXECUTION SUMMARY")
    print(_LINE)
    print(f"Total tasks: {total}")
    for name in ("completed", "partial", "failed", "skipped"):
        if stats[name] or name in {"completed", "failed"}:
            share = 100 * stats[name] / total if total else 0.0
            print(f"{name.capitalize()}: {stats[name]} ({share:.1f}%)")
    if stats["already_ended"]:
        print(f"Ended before this run: {stats['already_ended']}")
    print(f"Duration: {seconds:.1f}s ({seconds / 60:.1f} minutes)")
    if stats["longest_task_seconds"]:
        print(
            f"Per task: {stats['average_task_seconds']:.1f}s on average, {stats['longest_task_seconds']:.1f}s at most"
        )
    for title, key in (("By Priority:", "by_priority"), ("By Scraper:", "by_scraper")):
        if stats[key]:
            print(f"\n{title}")
        for name, counts in stats[key].items():
            print(f"  {printable(name)}: {_describe_counts(counts)}")
    if stats["failures"]:
        print("\nsee `corral queue dead`; `corral queue requeue TASK` executes a task again")
    print(_LINE, flush=True)


def _describe_counts(counts: dict[str, int]) -> str:
    said = [f"{counts['completed']} completed", f"{counts['failed']} failed"]
    said += [f"{counts[name]} {name}" for name in ("partial", "skipped") if counts[name]]
    return ", ".join(said)
