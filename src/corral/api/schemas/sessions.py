"""Schemas of sessions and interventions. Requests carry secrets, answers never do."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from corral.domain.errors import BadInput
from corral.domain.runs.intervention import Intervention
from corral.domain.runs.run import Run
from corral.domain.sites.session import DEFAULT_NAME, MAX_COOKIES
from corral.domain.sites.session_text import OF_BROWSERS, cookies_of_text
from corral.engine.usecases.sessions import SessionDraft
from corral.views.artifacts import artifact_path

Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
SecretText = Annotated[SecretStr, Field(max_length=65_536)]
Origin = Annotated[str, StringConstraints(max_length=8192)]
ItemName = Annotated[str, StringConstraints(max_length=4096)]
HeaderName = Annotated[str, StringConstraints(max_length=256)]
_MAX_ITEMS = 3000  # of local storage, per origin
_MAX_COOKIE_TEXT = 1024 * 1024
_MAX_TIMESTAMP = 10**15


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class CookieIn(_Strict):
    """A cookie as browsers, their extensions and Playwright export it."""

    name: str = Field(max_length=4096)
    value: SecretText
    domain: str | None = Field(None, max_length=255, description="default: the host of the job's target")
    path: str = Field("/", max_length=4096)
    expires: float | None = Field(
        None,
        ge=-_MAX_TIMESTAMP,
        le=_MAX_TIMESTAMP,
        validation_alias=AliasChoices("expires", "expirationDate"),
        description="seconds since 1970; null or -1 for a session cookie",
    )
    secure: bool = False
    http_only: bool = Field(False, alias="httpOnly")
    same_site: str | None = Field(
        None, alias="sameSite", max_length=20, description="Strict, Lax (the default) or None"
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_browser_keys(cls, document: Any) -> Any:
        return (
            {key: value for key, value in document.items() if key not in OF_BROWSERS}
            if isinstance(document, dict)
            else document
        )

    def plain(self) -> dict[str, Any]:
        return {**self.model_dump(by_alias=True), "value": self.value.get_secret_value()}


class LocalStorageItem(_Strict):
    name: ItemName
    value: SecretText


class OriginIn(BaseModel):
    """An origin of a Playwright storage state. Only local storage is used, not IndexedDB."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    origin: Origin
    local_storage: list[LocalStorageItem] = Field(default_factory=list, alias="localStorage", max_length=_MAX_ITEMS)


def _cookies_in(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if len(value) > _MAX_COOKIE_TEXT:
        raise PydanticCustomError("cookies", "the text has more than {most} characters", {"most": _MAX_COOKIE_TEXT})
    try:
        return cookies_of_text(value)
    except BadInput as problem:
        # As an error of pydantic, which carries the location: in a session, or in the session of a resolution.
        raise PydanticCustomError("cookies", "{what}", {"what": problem.message}) from None


_CookieText = Annotated[str, Field(max_length=_MAX_COOKIE_TEXT)]
_CookieList = Annotated[list[CookieIn], Field(max_length=MAX_COOKIES)]
Cookies = Annotated[_CookieList, BeforeValidator(_cookies_in, json_schema_input_type=_CookieList | _CookieText)]


class SessionContent(_Strict):
    name: Name = DEFAULT_NAME
    cookies: Cookies = Field(default_factory=list, description="or a text: a cookies.txt, or name=value; name=value")
    origins: list[OriginIn] = Field(
        default_factory=list, max_length=1000, description="local storage as in a Playwright storage state"
    )
    storage: dict[Origin, Annotated[dict[ItemName, SecretText], Field(max_length=_MAX_ITEMS)]] | None = Field(
        None, max_length=1000, description="origin to key to value"
    )
    headers: dict[HeaderName, SecretText] | None = Field(
        None,
        max_length=100,
        description="sent over HTTP to the origin of the job's target only; a browser does not send them",
    )

    def draft(self) -> SessionDraft:
        stored = {
            origin: {key: text.get_secret_value() for key, text in items.items()}
            for origin, items in (self.storage or {}).items()
        }
        for origin_in in self.origins:
            items = stored.setdefault(origin_in.origin, {})
            items |= {item.name: item.value.get_secret_value() for item in origin_in.local_storage}
        headers = {name: text.get_secret_value() for name, text in (self.headers or {}).items()}
        return SessionDraft([cookie.plain() for cookie in self.cookies], stored, headers, self.name)


class SessionCreate(SessionContent):
    job_id: UUID


class SessionRead(BaseModel):
    id: str
    job_id: str
    name: str
    version: int
    key_id: str
    cookies: int
    domains: list[str]
    origins: list[str]
    headers: list[str]
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    checked_at: datetime | None
    check: Literal["unchecked", "valid", "dead", "unknown"]


class SessionCheckRead(BaseModel):
    session_id: str
    valid: bool | None = Field(description="null if the target could not be requested")
    reason: str
    http_status: int | None
    strategy: str


class InterventionResolve(_Strict):
    session: SessionContent | None = None
    captured_session: SessionContent | None = Field(None, description="the same as `session`")
    resolution: str | None = Field(None, max_length=1000, description="what was done; recorded in the event of the run")
    resolved_by: str | None = Field(None, max_length=200, description="who did it; recorded in the event of the run")

    @model_validator(mode="after")
    def _check_one_session(self) -> "InterventionResolve":
        if self.session is not None and self.captured_session is not None:
            raise PydanticCustomError("two_sessions", "session and captured_session are the same; send one of them")
        return self

    def note(self) -> dict[str, str]:
        """Return the fields for the event of the resumed run."""
        fields = {"resolution": self.resolution, "resolved_by": self.resolved_by}
        return {name: value for name, value in fields.items() if value}


class InterventionRead(BaseModel):
    id: str
    run_id: str
    job_id: str | None
    kind: str
    reason: str
    url: str | None
    status: Literal["open", "resolved", "cancelled"]
    screenshot: str | None = Field(description="path of the screenshot; null if there is none")
    created_at: datetime
    resolved_at: datetime | None
    run_status: str | None = Field(None, description="of the run, right after resolving")


def intervention_read(intervention: Intervention, run: Run | None = None) -> dict[str, Any]:
    return {
        "id": intervention.id,
        "run_id": intervention.run_id,
        "job_id": intervention.job_id,
        "kind": intervention.kind.value,
        "reason": intervention.reason,
        "url": intervention.url,
        "status": intervention.status.value,
        "screenshot": artifact_path(intervention.run_id, intervention.screenshot) if intervention.screenshot else None,
        "created_at": intervention.created_at,
        "resolved_at": intervention.resolved_at,
        "run_status": None if run is None else run.state.value,
    }
