"""Request and response schemas. Unknown properties are rejected: a misspelt option must not be ignored."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SecretStr, StrictBool, StringConstraints, model_validator

from corral.api.schemas.fields import FieldName, FieldRecipe, OwnCode, PageFieldsBody, Selector, Strict
from corral.domain.crawl.job_pages import MAX_ITEMS, MAX_LIST_PAGES
from corral.domain.fields.page_fields import MAX_PATTERNS
from corral.domain.fields.record_key import MAX_KEY_FIELDS
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.schedule import ACCEPTED
from corral.domain.lists.pagination import MAX_STEP, PagingMode, link_spec
from corral.domain.net.url import MAX_URL_CHARS
from corral.domain.quality.thresholds import MAX_HISTORY, MAX_IGNORED, Thresholds
from corral.domain.records.changes import RowChange

PriorityName = Literal["critical", "high", "medium", "low"]
CrawlModeName = Literal["single", "list", "crawl"]
OnTroubleName = Literal["fail", "wait"]
StrategyName = Literal["auto", "http", "browser", "api_replay"]
# Strict: pydantic would otherwise convert `true` or "5" to a number, and "yes" to true.
Attempts = Annotated[int, Field(strict=True, ge=1, le=100)]
Seconds = Annotated[float, Field(strict=True, gt=0, le=3600)]

_TIMEOUT = "for one attempt as a whole; over HTTP it also raises the limit of 10 s for the first byte"
PROXY_TEXT = (
    "`direct`, `pool`, `tiered`, or `http://`, `https://`, `socks5://` and `[user:password@]host:port`; reads show no"
    " credentials"
)
# Never repeated in an error: it may hold a password.
ProxyText = Annotated[SecretStr, Field(min_length=1, max_length=1000)]
_MODE = "`single`: the target; `list`: the items of a list that begins there; `crawl`: the pages of its site"
_TLS = "false accepts any certificate, for this job only; each of its runs records an event about it"
_WAIT = "`wait` holds the run and opens an intervention for a person, instead of ending the run"
_VALIDATE = "false accepts the job without requesting its target, which may then be unresolvable or answer 5xx"
_Amount = Annotated[float, Field(ge=0, le=1e15)]
_BUDGET = "limits of one run of a list or crawl job: requests, bytes, seconds, browser_seconds, cost"
_KEY = "the field, or fields, by which a row is recognized in later runs; null is the URL of its page"
RecordKey = FieldName | Annotated[list[FieldName], Field(min_length=1, max_length=MAX_KEY_FIELDS)]
_PARSE = "own code: its function `parse(page)` returns the records of a page"
_QUALITY = "thresholds: a run whose data is much worse than that of earlier runs is partial, its records kept apart"
_FREQUENCY = f"when the job runs by itself: {ACCEPTED}"


class LinkSelector(Strict):
    """`css` or `xpath`. `attr` defaults to `href`; `all` is true by default for items, and false for the next page."""

    css: Selector | None = None
    xpath: Selector | None = None
    attr: Annotated[FieldName, StringConstraints(min_length=1)] | None = None
    all: StrictBool | None = None

    @model_validator(mode="after")
    def _check_selectors(self) -> "LinkSelector":
        if (self.css is None) == (self.xpath is None):
            raise ValueError("give css or xpath, one of them")
        return self

    def document(self) -> dict[str, Any]:
        return {"attr": "href", **self.model_dump(exclude_none=True)}

    def spec(self, name: str, *, every: bool) -> FieldSpec:
        return link_spec(self.document(), name, every=every)


PagingModeName = Literal["auto", "next", "numbers", "load_more", "scroll", "cursor", "none"]
_PAGINATION = (
    "how the list goes on: a mode, a CSS selector of the link to the next page, or an object with `mode`, "
    "`css` or `xpath`, `attr`, `all`, `param` and `step`. Left out it is `auto`; null takes the first page only"
)


class PagingSelector(Strict):
    """A `mode`, a selector, or both: of the next link (`next`), the page links (`numbers`), the button (`load_more`).

    `param` and `step` name the query parameter that `numbers` counts, where no link shows it.
    """

    mode: PagingModeName | None = None
    css: Selector | None = None
    xpath: Selector | None = None
    attr: Annotated[FieldName, StringConstraints(min_length=1)] | None = None
    all: StrictBool | None = None
    param: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^&=#?\s]+$")] | None = None
    step: Annotated[int, Field(strict=True, ge=1, le=MAX_STEP)] | None = None

    @model_validator(mode="after")
    def _check_selectors(self) -> "PagingSelector":
        if self.css is not None and self.xpath is not None:
            raise ValueError("give css or xpath, one of them")
        if self.mode is None and self.css is None and self.xpath is None:
            raise ValueError("give a mode, css or xpath")
        return self

    def document(self) -> dict[str, Any]:
        """Return the supplied options; a selector without an attribute reads `href`."""
        document = self.model_dump(exclude_none=True)
        return {"attr": "href", **document} if self.css is not None or self.xpath is not None else document


def paging_document(pagination: str | PagingSelector) -> dict[str, Any]:
    """Return the options of a pagination. A text is a mode or a selector: no HTML element has the name of a mode."""
    if not isinstance(pagination, str):
        return pagination.document()
    return {"mode": pagination} if pagination in set(PagingMode) else PagingSelector(css=pagination).document()


class ListConfig(Strict):
    """`item_links` and `pagination` are those of /jobs/list-wizard/validate."""

    item_links: Selector | LinkSelector | None = Field(None, description="selects the links to the items")
    pagination: Selector | PagingSelector | None = Field(None, description=_PAGINATION)
    max_pages: Annotated[int, Field(strict=True, ge=1, le=MAX_LIST_PAGES)] | None = Field(
        None, description="maximum pages of the list (default 10); of a site, maximum pages in total (default 1000)"
    )
    max_items: Annotated[int, Field(strict=True, ge=1, le=MAX_ITEMS)] | None = Field(
        None, description="maximum items of the list (default 500)"
    )
    allowed_domains: list[Annotated[str, StringConstraints(min_length=1, max_length=255)]] | None = Field(
        None, max_length=100, description="further domains for items, or for pages of a site, beside that of the target"
    )
    user_agent: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        None, description="replaces the user agent of the installation"
    )
    delay_s: Annotated[float, Field(strict=True, ge=0, le=3600)] | None = Field(
        None, description="minimum delay between two pages of one host"
    )
    keep_pages: StrictBool | None = Field(
        None, description="store the responses, for exports as WARC and for `corral reparse`"
    )
    save_files: StrictBool | None = Field(
        None, description="save non-HTML responses as files, each with a record of its path"
    )
    keep_params: list[Annotated[str, StringConstraints(min_length=1, max_length=100)]] | None = Field(
        None, max_length=50, description="parameters that identify pages although they look like session ids"
    )
    avoid_traps: StrictBool | None = Field(
        None, description="of a site: false also fetches URLs that look like a trap; items of a list are never deferred"
    )

    page_fields: list[PageFieldsBody] | None = Field(
        None,
        max_length=MAX_PATTERNS,
        description="of a site: fields of the pages whose address matches a pattern; the first that matches counts",
    )

    def document(self) -> dict[str, Any]:
        """Return only the supplied options."""
        document = self.model_dump(exclude_none=True)
        if self.page_fields is not None:
            where = "list_config.page_fields"
            document["page_fields"] = [fields.document(index, where) for index, fields in enumerate(self.page_fields)]
        links = self.item_links
        if links is not None:
            document["item_links"] = (LinkSelector(css=links) if isinstance(links, str) else links).document()
        if self.pagination is not None:
            document["pagination"] = paging_document(self.pagination)
        elif links is not None and "pagination" not in self.model_fields_set:
            document["pagination"] = {"mode": PagingMode.AUTO.value}
        return document


class Quality(Strict):
    """Thresholds of the verdict on the data of each run; omitted ones have their default."""

    enabled: StrictBool = True
    min_history: Annotated[int, Field(strict=True, ge=1, le=MAX_HISTORY)] = Field(
        5, description="good runs before a run is judged"
    )
    drop: Annotated[float, Field(strict=True, ge=0.05, le=1)] = Field(
        0.3, description="by which share a fill rate or the number of records may fall"
    )
    ignore: list[FieldName] = Field(default_factory=list, max_length=MAX_IGNORED, description="fields not to judge")

    def thresholds(self) -> Thresholds:
        return Thresholds.of(self.model_dump())


class JobCreate(Strict):
    target_url: str = Field(max_length=MAX_URL_CHARS)
    fields: list[FieldName | FieldRecipe] = Field(
        default_factory=list, max_length=200, description="at least one, or `parse`, or `page_fields` of a site"
    )
    parse: OwnCode | None = Field(None, description=_PARSE)
    requires_auth: StrictBool = False
    frequency: str = Field("on_demand", max_length=200, description=_FREQUENCY)
    strategy: StrategyName = "auto"
    crawl_mode: CrawlModeName = Field("single", description=_MODE)
    list_config: ListConfig | None = Field(None, description="needs crawl_mode list or crawl")
    priority: PriorityName = "medium"
    max_attempts: Attempts | None = None
    timeout_s: Seconds | None = Field(None, description=_TIMEOUT)
    respect_robots: StrictBool = True
    verify_tls: StrictBool = Field(True, description=_TLS)
    proxy_policy: ProxyText | None = Field(None, description=PROXY_TEXT)
    on_captcha: OnTroubleName = Field("fail", description=_WAIT)
    on_missing: OnTroubleName = Field("fail", description=_WAIT)
    record_key: RecordKey | None = Field(None, description=_KEY)
    quality: Quality = Field(default_factory=Quality, description=_QUALITY)
    budget: dict[str, _Amount] = Field(default_factory=dict, max_length=10, description=_BUDGET)
    checks_target: StrictBool = Field(True, alias="validate", description=_VALIDATE)


class JobChange(Strict):
    """Omitted fields keep their value."""

    target_url: str | None = Field(None, max_length=MAX_URL_CHARS)
    fields: list[FieldName | FieldRecipe] | None = Field(None, max_length=200)
    parse: OwnCode | None = Field(None, description=f"{_PARSE}; null removes it")
    requires_auth: StrictBool | None = None
    frequency: str | None = Field(None, max_length=200, description=_FREQUENCY)
    strategy: StrategyName | None = None
    crawl_mode: CrawlModeName | None = Field(None, description=_MODE)
    list_config: ListConfig | None = Field(None, description="the whole of it; null removes it")
    priority: PriorityName | None = None
    max_attempts: Attempts | None = None
    timeout_s: Seconds | None = Field(None, description=_TIMEOUT)
    respect_robots: StrictBool | None = None
    verify_tls: StrictBool | None = Field(None, description=_TLS)
    proxy_policy: ProxyText | None = Field(None, description=PROXY_TEXT)
    on_captcha: OnTroubleName | None = Field(None, description=_WAIT)
    on_missing: OnTroubleName | None = Field(None, description=_WAIT)
    record_key: RecordKey | None = Field(None, description=_KEY)
    quality: Quality | None = Field(None, description=f"the whole of it: {_QUALITY}")
    budget: dict[str, _Amount] | None = Field(None, max_length=10, description=f"the whole of it: {_BUDGET}")
    checks_target: StrictBool | None = Field(None, alias="validate", description=_VALIDATE)


class RunOverrides(Strict):
    priority: PriorityName | None = None
    strategy: StrategyName | None = None
    max_attempts: Attempts | None = None


class JobRead(BaseModel):
    id: str
    target_url: str
    fields: list[str | dict[str, Any]]
    parse: dict[str, str] | None
    requires_auth: bool
    frequency: str
    strategy: StrategyName
    crawl_mode: str
    list_config: dict[str, Any] | None
    priority: PriorityName
    max_attempts: int
    timeout_s: float | None
    respect_robots: bool
    verify_tls: bool
    proxy_policy: str | None
    on_captcha: OnTroubleName
    on_missing: OnTroubleName
    record_key: str | list[str] | None
    quality: dict[str, Any]
    budget: dict[str, float]
    status: str
    created_at: datetime


class Progress(BaseModel):
    total: int
    done: int
    failed: int
    skipped: int
    percent: float
    eta_s: float | None


class RunRead(BaseModel):
    id: str
    job_id: str | None
    status: str
    attempt: int
    max_attempts: int
    requested_strategy: StrategyName
    resolved_strategy: StrategyName
    failure_code: str | None
    error_message: str | None
    stats: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    kind: str
    priority: PriorityName
    progress: Progress
    parent_id: str | None
    retry_of: str | None
    due_at: datetime | None
    waiting_reason: str | None = Field(
        None, description="queued because its host may not be requested yet: `breaker`, `pace` or `retry_after`"
    )
    failure_detail: str | None
    engine_attempts: list[dict[str, Any]]
    target_url: str | None


class RunEventRead(BaseModel):
    id: str
    run_id: str
    seq: int
    level: Literal["info", "warn", "error"]
    message: str
    meta: dict[str, Any]
    created_at: datetime


class RecordRead(BaseModel):
    id: str
    run_id: str
    data: dict[str, Any]
    created_at: datetime
    details: dict[str, Any] = Field(
        default_factory=dict,
        description="by field: the source of its value, its confidence, its raw value if converted, its problems",
    )
    verdict: Literal["suspect", "broken"] | None = Field(
        None, description="the verdict on the data of its run, because of which the record is kept apart"
    )


class ChangedRowRead(BaseModel):
    change: RowChange
    key: str = Field(description="the values of the record key, or the URL of the page")
    record_id: str = Field(description="the record of the later run; of the earlier run if only that has the row")
    data: dict[str, Any]
    fields: dict[str, dict[str, Any]] = Field(description="of a changed row: by field, its value `before` and `after`")


class JobChanges(BaseModel):
    job_id: str
    run_id: str
    since: str | None = Field(description="the run compared with; null if there is none, then every row is new")
    is_complete: bool = Field(description="false if the run may have missed rows: they are unknown, not gone")
    is_since_complete: bool = Field(description="false if the earlier run may have missed rows that count as new here")
    record_key: str | list[str] | None
    key_problems: dict[str, Any] = Field(description="rows with a key that another row has, and rows without it")
    counts: dict[RowChange, int]
    rows: list[ChangedRowRead]


class RecordStats(BaseModel):
    total: int
    runs: int
    jobs: int
    first_at: datetime | None
    last_at: datetime | None


class StrategyIntelligence(BaseModel):
    attempts: int
    success_rate: float | None
    yield_rate: float | None = Field(alias="yield")
    cost_ms: float | None


class DomainIntelligence(BaseModel):
    domain: str
    strategies: dict[str, StrategyIntelligence]
    proven: dict[str, str] = Field(description="set of fields, by its key, to the cheapest strategy that fills it")


class Health(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    components: dict[str, dict[str, Any]]


class Deleted(BaseModel):
    message: str


class Problem(BaseModel):
    code: str
    message: str
    request_id: str
    field: str | None = None
    hint: str | None = None


class ProblemBody(BaseModel):
    error: Problem
    detail: str
