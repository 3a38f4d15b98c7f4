"""`corral records`: the records of a run."""

from typing import Annotated

import typer

from corral.cli import exits, render, shapes
from corral.cli.options import AsJson, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.runs.record import Record
from corral.settings import Settings, load_settings
from corral.store.store import Store

_PAGE = 500


def records(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")],
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many to show at most.")] = 1000,
    as_json: AsJson = False,
) -> None:
    """Show the records of a run, in the order of discovery.

    \b
    corral records 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral records 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --json | jq '.[].data'
    """

    finish(_records(load_settings(), check_id(run_id, "run"), limit, as_json=as_json))


async def _records(settings: Settings, run_id: str, limit: int, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        run = await store.runs.get(run_id)
        records = await records_of(store, run_id, limit)
    if as_json:
        render.print_json([shapes.record_shape(record) for record in records])
    elif records:
        print_records([record.data for record in records])
    else:
        print(f"no records; the run is {shapes.run_status(run)}")
    return exits.DONE


async def records_of(store: Store, run_id: str, limit: int) -> list[Record]:
    records: list[Record] = []
    while len(records) < limit:
        page = await store.records.of_run(run_id, records[-1].id if records else "", min(_PAGE, limit - len(records)))
        if not page:
            break
        records += page
    return records


def print_records(records: list[dict[str, object]]) -> None:
    """Print one record as a list of fields, several as a table."""

    if len(records) == 1:
        filled = {name: value for name, value in records[0].items() if value not in (None, "", [], {})}
        render.print_properties(filled or {"(no field)": "was found"})
        return
    columns = list(dict.fromkeys(name for data in records for name in data))
    rows = [[render.printable(data.get(name)) for name in columns] for data in records]
    render.print_table([f"{render.printable(column)}…" for column in columns], rows)
