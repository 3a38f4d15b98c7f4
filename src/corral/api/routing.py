"""Build routers that all document the same errors and refuse unknown parameters."""

from typing import Any

from fastapi import APIRouter, Depends

from corral.api.guard.query import check_query

_RETRY_AFTER = {"Retry-After": {"description": "seconds to wait", "schema": {"type": "integer", "minimum": 1}}}
_ALLOW = {"Allow": {"description": "the methods of this path", "schema": {"type": "string"}}}
# By reference: FastAPI would build a model anew for every error of every route, which takes half a second.
_PROBLEM = {"application/json": {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
_ERRORS: dict[int, tuple[str, dict[str, Any]]] = {
    400: ("Not a valid HTTP request", {}),
    401: ("No token, or an unknown one", {}),
    403: ("The token may not write, or a page of another origin or under another name sent it", {}),
    404: ("Not found", {}),
    405: ("The path does not take this method", _ALLOW),
    408: ("The request did not arrive in time", {}),
    409: ("The state forbids it", {}),
    413: ("The body is too large", {}),
    414: ("The address is too long", {}),
    415: ("The body is not sent as JSON", {}),
    422: ("The request is not valid; `field` names what is wrong", {}),
    429: ("Over a quota or the rate limit", _RETRY_AFTER),
    431: ("The headers are too large, or too many", {}),
    500: ("A fault of the server; its log has the details under the request id", {}),
    503: ("No room, stopping, or the storage does not answer", _RETRY_AFTER),
    507: ("The storage is full", _RETRY_AFTER),
}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": _PROBLEM, **({"headers": headers} if headers else {})}
    for status, (text, headers) in _ERRORS.items()
}


def make_router(tag: str, prefix: str = "") -> APIRouter:
    return APIRouter(prefix=prefix, tags=[tag], responses=ERRORS, dependencies=[Depends(check_query)])
