"""Schemas of the proxy pool."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

TierName = Literal["datacentre", "residential"]


class ProxyImportBody(BaseModel):
    """A list of proxies. Malformed entries are reported by index, and the rest is imported."""

    model_config = ConfigDict(extra="forbid")

    text: SecretStr | None = Field(
        None, max_length=1_000_000, description="the list as text: one proxy a line, or JSON; see the how-to"
    )
    proxies: list[Any] | None = Field(None, max_length=50_000, description="or as JSON: texts and objects", repr=False)
    scheme: Literal["http", "https", "socks5"] = Field("http", description="scheme of entries that name none")
    tier: TierName = "datacentre"
    source: str = Field("api", max_length=200, description="shown with each proxy")


class MalformedProxyRead(BaseModel):
    index: int = Field(description="index of the entry, from 1")
    line: int | None = Field(description="line of a plain list")
    reason: str


class ProxyImportRead(BaseModel):
    imported: int
    updated: int
    unchanged: int
    malformed_count: int
    malformed: list[MalformedProxyRead]


class ProxyRead(BaseModel):
    id: int
    address: str = Field(description="user and password are never shown")
    tier: TierName
    source: str
    state: str = Field(description="unchecked, alive, cooling or dead; only alive ones are used")
    score: float
    anonymity: str
    exit_address: str | None
    latency_ms: int | None
    tls: bool | None
    reaches_target: bool | None
    problem: str | None
    failures: int = Field(description="failures in a row")
    uses: int
    successes: int
    cooled_until: datetime | None
    checked_at: datetime | None
    created_at: datetime


class PoolRead(BaseModel):
    total: int
    usable: int
    minimum: int
    by_state: dict[str, int]


class TierRead(BaseModel):
    tier: str
    good: float = Field(description="answers; an answer that is an hour old counts half")
    refused: float = Field(description="requests that the site refused, with the same weights")
    is_refused: bool = Field(description="a tiered policy does not start with this tier")
    tried_again_at: datetime | None


class SiteTiersRead(BaseModel):
    site: str
    begins_with: str = Field(description="the tier that a tiered policy tries first now")
    tiers: list[TierRead]


class RefreshRead(BaseModel):
    job_id: str
    total_chunks: int
    completed_chunks: int
    failed_chunks: int
    status: Literal["DISPATCHED", "PROCESSING", "COMPLETE", "FAILED"]
    started_at: datetime
    completed_at: datetime | None
    result_count: int | None = Field(description="usable proxies at the end")
    error: str | None


_ProxyId = Annotated[int, Field(ge=1, le=2**63 - 1)]


class CheckBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    ids: list[Annotated[int, Field(ge=1, le=2**63 - 1)]] | None = Field(
        None, max_length=50_000, description="null checks every proxy"
    )
    target: str | None = Field(None, max_length=2000, description="a page that the proxies must reach")


class CheckStarted(BaseModel):
    runs: list[str]


class DeletedRead(BaseModel):
    deleted: int
