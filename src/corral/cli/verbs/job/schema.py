"""`corral job schema`."""

from corral.cli import exits, render
from corral.cli.options import check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.job.list import JobArgument
from corral.domain.records.record_schema import describe_records
from corral.settings import Settings, load_settings


def schema(job_id: JobArgument) -> None:
    """Print the JSON Schema of the records of a job.

    The schema (draft 2020-12) follows from the fields of the job, their types and rules. Exports as json and jsonl
    match it.

    \b
    corral job schema 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b > schema.json
    """

    finish(_schema(load_settings(), check_id(job_id, "job")))


async def _schema(settings: Settings, job_id: str) -> int:

    async with read_store(settings) as store:
        job = (await store.jobs.get(job_id)).job
    render.print_json(describe_records(job))
    return exits.DONE
