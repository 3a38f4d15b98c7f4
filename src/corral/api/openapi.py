"""Build the OpenAPI document: the routes as FastAPI describes them, with the limits of the server."""

import asyncio

from fastapi import FastAPI
from starlette.responses import Response

from corral.api import render
from corral.api.http.limits import limits_of
from corral.api.schemas.common import ProblemBody
from corral.domain.json_shape import MAX_DEPTH, MAX_VALUES
from corral.settings import Settings


def limits_document(settings: Settings) -> dict[str, int | float]:
    limits = limits_of(settings)
    return {
        "max_body_bytes": settings.api_max_body_bytes,
        "max_body_depth": MAX_DEPTH,
        "max_body_values": MAX_VALUES,
        "max_header_bytes": limits.max_header_bytes,
        "max_headers": limits.max_headers,
        "max_url_bytes": limits.max_url_bytes,
        "header_timeout_seconds": limits.header_timeout_s,
        "body_timeout_seconds": settings.api_body_timeout_seconds,
        "max_event_streams": settings.api_max_streams,
        "reads_per_second": settings.api_read_rate,
        "read_burst": settings.api_read_burst,
        "writes_per_second": settings.api_write_rate,
        "write_burst": settings.api_write_burst,
    }


def describe_limits(settings: Settings) -> str:
    limits = limits_document(settings)
    return (
        "Say what to collect; Corral decides how, runs it, and shows what happened.\n\n"
        f"A body has at most {limits['max_body_bytes']} bytes, {MAX_DEPTH} levels and {MAX_VALUES} values; "
        f"a request line with its headers at most {limits['max_header_bytes']} bytes "
        f"and {limits['max_headers']} headers. "
        "Every error has the shape of `ProblemBody`. `x-limits` has the limits of this server as numbers."
    )


class Schema:
    """Builds the document once, on the first request, in a thread: it would block the event loop."""

    def __init__(self, api: FastAPI, settings: Settings) -> None:
        self._api = api
        self._settings = settings
        self._lock = asyncio.Lock()
        self._document: bytes | None = None

    async def answer(self) -> Response:
        async with self._lock:
            if self._document is None:
                self._document = await asyncio.to_thread(self._write)
        return Response(self._document, media_type="application/json")

    def _write(self) -> bytes:
        document = self._api.openapi()
        problem = ProblemBody.model_json_schema(ref_template="#/components/schemas/{model}")
        document["components"]["schemas"] |= {**problem.pop("$defs"), "ProblemBody": problem}
        document["info"]["x-limits"] = limits_document(self._settings)
        max_bytes = self._settings.api_max_body_bytes
        for operations in document["paths"].values():
            for operation in operations.values():
                if "requestBody" in operation:
                    operation["requestBody"]["description"] = f"JSON of at most {max_bytes} bytes"
                    operation["requestBody"]["x-max-bytes"] = max_bytes
        return render.dumps(document)
