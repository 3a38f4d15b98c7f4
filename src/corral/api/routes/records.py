"""Records: of a run, of all runs, and their statistics."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Limit
from corral.api.routing import make_router
from corral.api.schemas.common import Deleted, RecordRead, RecordStats
from corral.domain.runs.record import RecordFilter

router = make_router("records")

Moment = Annotated[datetime | None, Query()]
Withheld = Annotated[
    bool, Query(description="include records that are withheld because of the verdict on the data of their run")
]


def _ms(moment: datetime | None) -> int | None:
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


async def _parse_filter(
    job_id: Id | None = None,
    run_id: Id | None = None,
    date_from: Moment = None,
    date_to: Moment = None,
    withheld: Withheld = False,
) -> RecordFilter:
    of_job, of_run = (str(value) if value else None for value in (job_id, run_id))
    return RecordFilter(of_job, of_run, _ms(date_from), _ms(date_to), with_withheld=withheld)


Filter = Annotated[RecordFilter, Depends(_parse_filter)]


@router.get("/jobs/runs/{run_id}/records", response_model=list[RecordRead])
async def list_records_of_run(run_id: Id, corral: Corral, limit: Limit = 50, cursor: Cursor = None) -> Response:
    await corral.store.runs.get(str(run_id))
    found = await corral.store.records.newest(RecordFilter(run_id=str(run_id)), render.cursor_id(cursor), limit)
    return render.page([render.record(each) for each in found], found[-1].id if found else None, limit)


@router.get("/jobs/records", response_model=list[RecordRead])
async def list_records(corral: Corral, record_filter: Filter, limit: Limit = 50, cursor: Cursor = None) -> Response:
    found = await corral.store.records.newest(record_filter, render.cursor_id(cursor), limit)
    return render.page([render.record(each) for each in found], found[-1].id if found else None, limit)


@router.get("/jobs/records/stats", response_model=RecordStats)
async def record_statistics(corral: Corral, record_filter: Filter) -> Response:
    total, runs, jobs, first_ms, last_ms = await corral.store.records.statistics(record_filter)
    times = [None if ms is None else datetime.fromtimestamp(ms / 1000, UTC) for ms in (first_ms, last_ms)]
    return render.answer({"total": total, "runs": runs, "jobs": jobs, "first_at": times[0], "last_at": times[1]})


@router.delete("/jobs/records/{record_id}", response_model=Deleted)
async def delete_record(record_id: Id, corral: Corral) -> Response:
    await corral.store.records.delete(str(record_id))
    return render.answer({"message": f"record {record_id} is deleted"})
