"""Answer every error in one format: what, which, what to do. Never a traceback."""

import uuid
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from corral.api.render import answer
from corral.api.streams import TooManyStreams
from corral.domain.errors import (
    BadConfiguration,
    BadInput,
    CannotLook,
    CorralError,
    DataWithheld,
    NotFound,
    NothingToAccept,
    PagesNotKept,
    SessionChanged,
    SiteConfigChanged,
    StorageFull,
    StorageUnavailable,
    StorageUnusable,
    TooManyExports,
    TooManyLooks,
    WrongState,
)

log = structlog.get_logger()

# Most specific first.
_STATUS: tuple[tuple[type[CorralError], int], ...] = (
    (BadInput, 422),
    (NotFound, 404),
    (WrongState, 409),
    (SessionChanged, 409),
    (SiteConfigChanged, 409),
    (PagesNotKept, 409),
    (NothingToAccept, 409),
    (DataWithheld, 409),
    (TooManyLooks, 429),
    (TooManyExports, 429),
    (CannotLook, 503),
    (BadConfiguration, 409),  # of a file that the operator must fix: neither the server nor the body is at fault
    (StorageFull, 507),
    (StorageUnavailable, 503),
    (StorageUnusable, 503),
    (TooManyStreams, 503),
)
# Properties that accept an object or, in short form, a string.
_OBJECTS = ("FieldRecipe", "SelectorSpec", "LinkSelector", "ItemSelector")
_MAX_EXAMINED = 200
_HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 401: "unauthorized", 403: "forbidden"}


def problem(
    status: int,
    code: str,
    message: str,
    *,
    request_id: str,
    field: str | None = None,
    hint: str | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    error = {"code": code, "message": message, "field": field, "hint": hint, "request_id": request_id}
    body = {"error": {key: value for key, value in error.items() if value is not None}, "detail": message}
    return answer(body, status, {"X-Request-ID": request_id, **(headers or {})})


class Refused(Exception):
    """Raised to answer a request before it reaches a route."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.field, self.hint, self.headers = field, hint, headers

    def response(self, request_id: str) -> Response:
        return problem(
            self.status,
            self.code,
            self.message,
            request_id=request_id,
            field=self.field,
            hint=self.hint,
            headers=self.headers,
        )


def request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id") or uuid.uuid4())


async def _on_corral_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, CorralError)
    status = next((number for kind, number in _STATUS if isinstance(error, kind)), 500)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("unhandled_error", path=request.url.path, reason=error.message, exc_info=error)
    headers = {"Retry-After": "1"} if status in (429, 503, 507) else None
    return problem(
        status,
        error.code,
        error.message,
        request_id=request_id(request),
        field=error.field,
        hint=error.hint,
        headers=headers,
    )


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # A body may have an error per value; only the first are named.
    everything = error.errors()
    errors = _drop_misleading(everything[:_MAX_EXAMINED])
    fields = [_field(each) for each in errors]
    messages = [
        f"{name}: {each['msg']}" if name else str(each["msg"]) for name, each in zip(fields, errors, strict=True)
    ]
    count = len(messages) + max(0, len(everything) - _MAX_EXAMINED)
    suffix = f" (and {count - 5} more)" if count > 5 else ""
    return problem(
        422,
        "bad_input",
        "; ".join(messages[:5])[:2000] + suffix,
        request_id=request_id(request),
        field=fields[0] or None,
        hint="see /docs for what is expected",
    )


def _drop_misleading(errors: Sequence[Any]) -> Sequence[Any]:
    """Drop "should be a string" for a field sent as a recipe: it would be misleading, because a field may be either."""
    recipes = {each["loc"][:index] for each in errors if (index := _alternative_at(each["loc"])) is not None}
    return [
        each
        for each in errors
        if not (each["type"] == "string_type" and isinstance(each["input"], dict) and each["loc"][:-1] in recipes)
    ]


def _alternative_at(location: Sequence[Any]) -> int | None:
    """Return the index of the name of an object that could have been a string; None if there is none."""
    return next((index for index, part in enumerate(location) if any(name in str(part) for name in _OBJECTS)), None)


def _field(error: Any) -> str:
    """Return the caller's name of a location: `body.fields.0` is `fields.0`."""
    parts = [str(part) for part in error["loc"]]
    if len(parts) > 1 and parts[0] in ("body", "path", "query", "header"):
        parts = parts[1:]
    # Alternatives of a union are named by their types; the caller never wrote those.
    return ".".join(part for part in parts if "(" not in part and part not in (*_OBJECTS, "constrained-str"))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _HTTP_CODES.get(error.status_code, "http_error")
    message = f"{request.method} {request.url.path[:200]}: {error.detail}"
    headers = dict(error.headers) if error.headers else {}
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (
        methods := request.app.state.methods.methods_of(request.url.path)
    ):
        headers["Allow"] = ", ".join(methods)
    return problem(error.status_code, code, message, request_id=request_id(request), headers=headers)


async def _on_bug(request: Request, error: Exception) -> Response:
    log.error("unhandled_error", path=request.url.path, exc_info=error)
    return problem(
        500,
        "internal",
        "something went wrong on our side; the log has the details under this request id",
        request_id=request_id(request),
    )


def install(api: FastAPI) -> None:
    api.add_exception_handler(CorralError, _on_corral_error)
    api.add_exception_handler(RequestValidationError, _on_invalid)
    api.add_exception_handler(HTTPException, _on_http)
    api.add_exception_handler(Exception, _on_bug)
