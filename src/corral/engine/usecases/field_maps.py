"""Change how individual fields of a job are found. Runs that start afterwards use the change."""

from collections.abc import Sequence
from typing import Any

from corral.domain.errors import BadInput, FieldNotFound
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import Job
from corral.domain.ports.stores import JobStore
from corral.engine.usecases.jobs import Jobs, check_fields


class FieldMaps:
    def __init__(self, store: JobStore, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs

    async def of(self, job_id: str) -> tuple[FieldSpec, ...]:
        return (await self._store.get(job_id)).job.fields

    async def put(self, job_id: str, maps: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
        """Replace fields by name and add new ones; the others keep their position."""
        check_maps(maps)

        def put_in(job: Job) -> dict[str, Any]:
            return {"fields": merge_maps(job.fields, maps)}

        return (await self._jobs.change_by(job_id, put_in)).job.fields

    async def remove(self, job_id: str, name: str) -> tuple[FieldSpec, ...]:
        """Remove the selectors of a field; the field itself stays."""

        def remove_map(job: Job) -> dict[str, Any]:
            return {"fields": without_map(job.fields, name)}

        return (await self._jobs.change_by(job_id, remove_map)).job.fields


def merge_maps(fields: Sequence[FieldSpec], maps: Sequence[FieldSpec]) -> tuple[FieldSpec, ...]:
    by_name = {spec.name.strip(): spec for spec in fields}
    return tuple((by_name | {spec.name.strip(): spec for spec in maps}).values())


def without_map(fields: Sequence[FieldSpec], name: str) -> tuple[FieldSpec, ...]:
    """Return the fields, with this one reduced to its bare name."""
    names = {spec.name.strip() for spec in fields}
    if name.strip() not in names:
        raise FieldNotFound(name)
    return tuple(FieldSpec(spec.name) if spec.name.strip() == name.strip() else spec for spec in fields)


def check_maps(maps: Sequence[FieldSpec]) -> None:
    """Check the maps as fields of a job; an error names the field and its position in the request."""
    try:
        check_fields(maps)
    except BadInput as problem:
        position = (problem.field or "").removeprefix("fields")
        number = position.lstrip(".").partition(".")[0]
        name = f"{maps[int(number)].name!r}: " if number else ""
        raise BadInput(
            f"{name}{problem.message}", field=f"field_maps{position}", hint=problem.hint, code=problem.code
        ) from None
