"""Dependencies of routes: the application, ids, pages, idempotency keys."""

import hashlib
from typing import Annotated, cast
from uuid import UUID

from fastapi import Depends, Header, Query, Request

from corral.domain.errors import BadInput
from corral.domain.runs.idempotency import IdempotencyKey
from corral.wiring.app import App


# Dependencies are coroutines: FastAPI runs plain functions in threads.
async def app_of(request: Request) -> App:
    return cast(App, request.app.state.corral)


async def idempotency_key(
    request: Request, key: Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)] = None
) -> IdempotencyKey | None:
    if key is None:
        return None
    if not key.isprintable():
        raise BadInput("an Idempotency-Key has 1 to 255 printable characters", field="Idempotency-Key")
    body: bytes = request.scope["state"].get("body", b"")
    digest = hashlib.sha256(f"{request.method} {request.url.path}\n".encode() + body)
    return IdempotencyKey(key, digest.hexdigest())


Corral = Annotated[App, Depends(app_of)]
Key = Annotated[IdempotencyKey | None, Depends(idempotency_key)]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=200)]
Id = UUID


def replay_header(replayed: bool) -> dict[str, str] | None:
    return {"Idempotent-Replay": "true"} if replayed else None
