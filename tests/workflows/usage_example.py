"""The usage example of the workflow interface, as a program. While the file `WAIT` exists, its second step waits."""

import asyncio
import os
import sys
import time
from pathlib import Path

from corral.workflows import JobOrchestrator, WorkflowDefinition, WorkflowStep, repositories

workflow_repo, task_repo, job_repo = repositories()


def note(step: str) -> None:
    with Path(os.environ["CALLS"]).open("a") as file:
        file.write(f"{step} {os.getpid()}\n")


# Define workflow steps
async def download_images() -> dict[str, int]:
    note("download")
    return {"downloaded": 1000}


async def validate_images() -> dict[str, int]:
    note("validate")
    while Path(os.environ.get("WAIT", "/nonexistent")).exists():  # noqa: ASYNC110 - another process removes it
        await asyncio.sleep(0.02)
    return {"valid": 950}


async def deduplicate_images() -> dict[str, int]:
    note("deduplicate")
    return {"deduplicated": 50}


# Create workflow definition
steps = [
    WorkflowStep(
        name="Download Images",
        task_type="download",
        handler=download_images,
        max_retries=3,
        estimated_duration=300,
    ),
    WorkflowStep(
        name="Validate Images",
        task_type="validate",
        handler=validate_images,
        max_retries=2,
        dependencies=[0],
        estimated_duration=200,
    ),
    WorkflowStep(
        name="Deduplicate Images",
        task_type="deduplicate",
        handler=deduplicate_images,
        max_retries=2,
        dependencies=[1],
        estimated_duration=150,
    ),
]

workflow_def = WorkflowDefinition(
    name="Dataset Build Workflow",
    steps=steps,
    max_recovery_attempts=3,
)


async def main() -> None:
    # Create and execute workflow
    orchestrator = JobOrchestrator(workflow_repo, task_repo, job_repo)
    workflow = await orchestrator.create_workflow(job_id=1, workflow_def=workflow_def)
    began = time.monotonic()
    result = await orchestrator.execute_workflow(workflow.id, workflow_def)

    # Monitor progress
    progress = await orchestrator.get_workflow_progress(workflow.id)
    print(f"Progress: {progress['progress']}%")  # noqa: T201 - what the program is for
    took = f"{time.monotonic() - began:.2f} s"
    print(workflow.id, result["status"], result["results"], took, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
