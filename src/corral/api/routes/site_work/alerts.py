"""Alert channels: write with a secret, read without it, test."""

from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, Field, SecretStr
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.api.schemas.common import Deleted, RunRead
from corral.api.schemas.fields import Strict
from corral.domain.alerts.channel import MAX_RECIPIENTS, AlertRules, ChannelDraft, ChannelKind
from corral.domain.net.url import MAX_URL_CHARS
from corral.domain.secret import Secret
from corral.views.alerts import channel_read

router = make_router("alerts")

Name = Annotated[str, Path(max_length=64)]
Address = Annotated[str, Field(max_length=320)]


class ChannelWrite(Strict):
    kind: Literal["webhook", "slack", "email"]
    url: SecretStr | None = Field(None, max_length=MAX_URL_CHARS, description="URL of a webhook; never returned")
    secret: SecretStr | None = Field(None, max_length=500, description="signs the messages of a webhook")
    to: list[Address] = Field(
        default_factory=list, max_length=MAX_RECIPIENTS, description="recipients of an email channel"
    )
    rules: dict[str, Any] | None = Field(
        None, max_length=10, description="error_rate, p95_seconds, statuses, breakers; omitted ones have defaults"
    )

    def draft(self, name: str) -> ChannelDraft:
        secret = None if self.secret is None else Secret(self.secret.get_secret_value())
        url = "" if self.url is None else self.url.get_secret_value()
        return ChannelDraft(name, ChannelKind(self.kind), url, secret, tuple(self.to), AlertRules.of(self.rules))


class ChannelRead(BaseModel):
    name: str
    kind: str
    leads_to: str = Field(description="the destination, without secrets")
    rules: dict[str, Any]


@router.get("/alerts/channels", response_model=list[ChannelRead])
async def list_channels(corral: Corral) -> Response:
    return render.answer([channel_read(each) for each in await corral.store.alerts.channels()])


@router.get("/alerts/channels/{name}", response_model=ChannelRead)
async def read_channel(name: Name, corral: Corral) -> Response:
    return render.answer(channel_read(await corral.store.alerts.get(name)))


@router.put("/alerts/channels/{name}", response_model=ChannelRead)
async def write_channel(name: Name, body: ChannelWrite, corral: Corral) -> Response:
    """Add or replace a channel. Its address and its secret are sealed, and never returned."""
    return render.answer(channel_read(await corral.sites.alerts.put(body.draft(name))))


@router.delete("/alerts/channels/{name}", response_model=Deleted)
async def delete_channel(name: Name, corral: Corral) -> Response:
    await corral.store.alerts.delete(name)
    return render.answer({"message": f"the alert channel {name} is deleted"})


@router.post("/alerts/channels/{name}/test", response_model=RunRead)
async def test_channel(name: Name, corral: Corral) -> Response:
    """Send a test message. The returned run shows whether it arrived."""
    return render.answer(render.run(await corral.sites.alerts.send_test(name)))
