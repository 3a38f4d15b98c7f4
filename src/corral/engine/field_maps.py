"""How the fields of a job are found, changed one by one: runs that start afterwards use it."""

from collections.abc import Sequence
from typing import Any

from corral.domain.errors import BadInput, FieldNotFound
from corral.domain.job import FieldSpec, Job
from corral.domain.ports import JobStore
from corral.engine.jobs import Jobs, check_fields


class FieldMaps:
    def __init__(self, store: JobStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    async def of(self, job_id: str) -> tuple[FieldSpec, ...]:
        return (await self._store.job(job_id)).job.fields

    async def put(self, job_id: str, maps: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
        """Replace those of these names, add those that are new; the others stay as and where they are."""
        check_maps(maps)

        def put_in(job: Job) -> dict[str, Any]:
            return {"fields": merged(job.fields, maps)}

        return (await self._jobs.change_by(job_id, put_in)).job.fields

    async def remove(self, job_id: str, name: str) -> tuple[FieldSpec, ...]:
        def removed(job: Job) -> dict[str, Any]:
            return {"fields": without(job.fields, name)}

        return (await self._jobs.change_by(job_id, removed)).job.fields


def merged(fields: Sequence[FieldSpec], maps: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
    by_name = {spec.name.strip(): spec for spec in fields}
    return tuple((by_name | {spec.name.strip(): spec for spec in maps}).values())


def without(fields: Sequence[FieldSpec], name: str) -> tuple[FieldSpec, ...]:
    left = tuple(spec for spec in fields if spec.name.strip() != name.strip())
    if len(left) == len(fields):
        raise FieldNotFound(name)
    if not left:
        raise BadInput(
            f"{name!r} is the only field of the job, and a job needs at least one",
            field="field",
            hint="put another one first",
            code="last_field",
        )
    return left


def check_maps(maps: Sequence[FieldSpec]) -> None:
    """As fields of a job; what is wrong is told with the field's name and where it stands in the request."""
    try:
        check_fields(maps)
    except BadInput as problem:
        place = (problem.field or "").removeprefix("fields")
        number = place.lstrip(".").partition(".")[0]
        name = f"{maps[int(number)].name!r}: " if number else ""
        raise BadInput(
            f"{name}{problem.message}", field=f"field_maps{place}", hint=problem.hint, code=problem.code
        ) from None
