"""The head and the summary that `corral queue run` prints."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from corral.cli import exits
from corral.cli.render import printable
from corral.domain.jobs.job import Priority
from corral.domain.queue.task import ImportReport, QueueFile, QueueTask
from corral.wiring.queue import QueueOrder

_LINE = "=" * 80
_MAX_LISTED = 20


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
    for entry in file.malformed[:_MAX_LISTED]:
        name = f" ({printable(entry.id)})" if entry.id else ""
        exits.complain(f"entry {entry.index}{name} was left out: {entry.reason}")
    if len(file.malformed) > _MAX_LISTED:
        exits.complain(f"{len(file.malformed) - _MAX_LISTED} more entries were left out")
    for note in file.notes:
        exits.complain(note)
    if report is not None and report.busy:
        exits.complain(
            f"{len(report.busy)} tasks changed while their former version is running: {', '.join(report.busy[:5])}",
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
    parts = [f"{counts['completed']} completed", f"{counts['failed']} failed"]
    parts += [f"{counts[name]} {name}" for name in ("partial", "skipped") if counts[name]]
    return ", ".join(parts)
