"""Settings from the environment and `.env`, prefix `APP_`. Frozen; every problem is reported at once."""

import difflib
import io
import ipaddress
import logging
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from dotenv.parser import Binding, parse_stream
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from corral.domain.errors import BadConfiguration
from corral.domain.net.address import AllowEntry
from corral.domain.net.http_cache import CacheMode

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_PREFIX = "APP_"
# Silences dotenv about lines that it cannot read: we report our own lines, and ignore those of other programs.
logging.getLogger("dotenv.main").setLevel(logging.ERROR)
# Former names of settings, without the prefix. They keep working; documentation and messages use the current names.
FORMER_NAMES = {
    "max_crawls": "max_concurrent_tasks",
    "runs_per_process": "concurrency",
    "shutdown_grace_seconds": "grace_seconds",
}
_log = logging.getLogger(__name__)
_SECRET_WORDS = ("token", "key", "password", "secret", "url")


class Transport(StrEnum):
    EMBEDDED = "embedded"
    CELERY = "celery"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_file=".env", frozen=True, extra="ignore", env_ignore_empty=True
    )

    data_dir: Path = Field(Path("var"), description="folder of everything that Corral stores")
    database_url: str | None = Field(None, repr=False, description="default: SQLite in the data folder")
    redis_url: str = Field("redis://127.0.0.1:6379/0", repr=False, description="used by the distributed mode")
    transport: Transport = Field(
        Transport.EMBEDDED, description="embedded: nodes poll the database for runs; celery: messages announce runs"
    )
    celery_broker_url: str = Field("redis://127.0.0.1:6379/1", repr=False, description="used by the distributed mode")

    workers: int = Field(2, ge=1, le=64, description="worker processes per node")
    runs_per_process: int = Field(50, ge=1, le=1000, description="runs at once per worker process")
    worker_max_memory_mib: int | None = Field(
        None,
        ge=0,
        le=1_000_000,
        description="a worker process larger than this is replaced; default: by available memory; 0: no limit",
    )
    data_inventory: Path = Field(
        Path("config/data_inventory.yaml"), description="the sources whose data reconciliation checks for gaps"
    )
    scraper_config: Path = Field(
        Path("config/scraper_config.yaml"), description="the scrapers of the queue; see the how-to on the queue"
    )
    site_config: Path = Field(
        Path("config/sites"), description="the folder of site configurations; see the how-to on sites"
    )
    scraper_root: Path = Field(Path(), description="the folder that holds scripts/; scripts outside of it are refused")
    script_concurrency: int = Field(5, ge=1, le=1000, description="scripts at once per node")
    queue_feed: bool = Field(True, description="nodes start the tasks of the queue; `corral queue run` always does")
    queue_lower_share: float = Field(
        0.0, ge=0, le=0.9, description="part of the slots that lower priorities may use while higher ones wait"
    )
    queue_starts_per_second: float = Field(
        0.0, ge=0, le=1000, description="tasks of the queue that start per second over all scrapers; 0: no limit"
    )
    max_crawls: int = Field(5, ge=1, le=1000, description="crawls at once per node")
    browser_concurrency: int = Field(2, ge=1, le=50, description="pages in a browser at once per worker process")
    browser_executable: str = Field("", description="the Chromium to start; default: the fastest on this machine")
    shutdown_grace_seconds: float = Field(10.0, ge=0, le=600, description="how long a stop waits for running runs")

    default_max_attempts: int = Field(3, ge=1, le=100)
    http_timeout_seconds: float = Field(20.0, gt=0, le=3600)
    browser_nav_timeout_ms: int = Field(30_000, gt=0, le=3_600_000)
    probe_timeout_seconds: float = Field(3.0, gt=0, le=60)
    max_body_bytes: int = Field(10 * 1024 * 1024, ge=1024, le=1024**3)
    max_value_chars: int = Field(1_000_000, ge=1000, le=10_000_000, description="longest value of a field")
    max_page_links: int = Field(100_000, ge=100, le=1_000_000, description="links that a crawl follows from one page")
    max_file_bytes: int = Field(
        50 * 1024 * 1024, ge=1024, le=1024**3, description="largest file that a crawl with save_files saves"
    )
    retry_base_seconds: float = Field(10.0, ge=0, le=86_400)
    retry_factor: float = Field(3.0, ge=1, le=100)
    retry_cap_seconds: float = Field(300.0, ge=0, le=86_400)
    retry_max_wait_seconds: float = Field(3600.0, ge=0, le=86_400)

    host_concurrency: int = Field(
        10,
        ge=1,
        le=1000,
        description="concurrent requests to one host, over all runs and crawls; a crawl may ask for more",
    )
    host_delay_seconds: float = Field(
        0.0, ge=0, le=3600, description="delay between two requests to one host, with a jitter of half"
    )
    host_max_delay_seconds: float = Field(
        60.0, ge=0, le=3600, description="maximum delay between requests to a host that is overloaded"
    )
    breaker_failures: int = Field(
        5, ge=1, le=100_000, description="consecutive failures after which the circuit breaker of a host opens"
    )
    breaker_open_seconds: float = Field(
        300.0, gt=0, le=86_400, description="how long the breaker stays open before a trial request"
    )

    price_request: float = Field(0.0, ge=0, le=1e6, description="cost of one request, in the currency of your choice")
    price_gb: float = Field(0.0, ge=0, le=1e6, description="cost of receiving 1,000,000,000 bytes")
    price_browser_hour: float = Field(0.0, ge=0, le=1e6, description="cost of one hour in a browser")
    price_cpu_hour: float = Field(0.0, ge=0, le=1e6, description="cost of one hour of processor time for reading pages")
    price_proxy_gb: float = Field(0.0, ge=0, le=1e6, description="additional cost of 1,000,000,000 bytes by a proxy")

    egress_allow: Annotated[tuple[AllowEntry, ...], NoDecode] = Field(
        (), description="private targets jobs may reach: comma-separated CIDR:port, port may be *"
    )
    workflow_modules: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="modules whose functions workflows over HTTP may call, comma-separated, or whole packages"
    )
    proxy_config: Path = Field(
        Path("config/proxies.yaml"), description="sources, checks and tiers of the proxy pool, and policies of sites"
    )
    proxy_policy: str = Field(
        "direct",
        max_length=200,
        pattern=r"^(direct|none|(pool|tiered)(:[a-z,]+)?(;sticky=(run|job|site))?)$",
        description="proxy policy of jobs and sites that have none of their own: direct, pool or tiered",
    )
    min_proxies_for_scraping: int = Field(
        10, ge=0, le=1_000_000, description="with fewer usable proxies, the pool is refreshed; 0 switches it off"
    )
    allow_own_code: bool = Field(
        False, description="accept Python code (`parse`) over HTTP; it runs with the rights of the workers"
    )
    user_agent: str = Field("Corral/0.1", min_length=1, max_length=200, pattern=r"^[\x20-\x7e]+$")
    contact_url: str | None = Field(
        None,
        max_length=200,
        pattern=r"^(?:https?://|mailto:)[\x21-\x7e]+$",
        description="contact address in the user agent, for site owners",
    )

    smtp_url: SecretStr | None = Field(
        None, description="mail server of alerts: smtp:// or smtps://[user:password@]host[:port]"
    )
    smtp_from: str | None = Field(
        None, max_length=255, pattern=r"^[^\s@<>]+@[A-Za-z0-9.-]+$", description="sender address of alert mails"
    )

    vault_key: SecretStr | None = Field(
        None, description="key of the session vault: 32 bytes in base64, newest first where there are several"
    )
    read_token: str | None = Field(None, repr=False, min_length=16, description="token for read access over HTTP")
    write_token: str | None = Field(
        None, repr=False, min_length=16, description="token for read and write access over HTTP"
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="host names with a dot that clients may use for an API without a token; comma-separated"
    )

    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = Field(
        (), description="proxies in front of the API whose X-Forwarded-For is trusted: comma-separated CIDRs"
    )
    api_max_body_bytes: int = Field(1024 * 1024, ge=1024, le=64 * 1024**2, description="largest body of a request")
    api_max_header_bytes: int = Field(
        64 * 1024, ge=8 * 1024, le=1024**2, description="request line and headers; the address may take half of it"
    )
    api_max_headers: int = Field(100, ge=20, le=1000, description="headers of a request")
    api_header_timeout_seconds: float = Field(10.0, ge=0.1, le=600, description="time limit for the head of a request")
    api_body_timeout_seconds: float = Field(30.0, ge=0.1, le=3600, description="time limit for the body of a request")
    api_keep_alive_seconds: int = Field(15, ge=1, le=3600, description="how long a connection waits for a request")
    api_send_timeout_seconds: float = Field(
        60.0, ge=0.1, le=3600, description="a client that reads nothing of its answer for this long is disconnected"
    )
    api_max_connections: int = Field(
        1000, ge=4, le=100_000, description="concurrent connections with a request, besides /health"
    )
    api_max_streams: int = Field(200, ge=1, le=10_000, description="event streams at once")
    api_read_rate: float = Field(500.0, ge=0, le=1_000_000, description="reads per second and client; 0 is no limit")
    api_read_burst: int = Field(5000, ge=1, le=10_000_000, description="reads that may come at once")
    api_write_rate: float = Field(100.0, ge=0, le=1_000_000, description="writes per second and client; 0 is no limit")
    api_write_burst: int = Field(1000, ge=1, le=10_000_000, description="writes that may come at once")

    retention_days: float | None = Field(None, gt=0, description="delete finished runs older than this")
    retention_max_runs: int | None = Field(None, ge=0, description="keep at most this many finished runs")
    retention_keep_records: bool = Field(True, description="keep records when their runs are deleted")

    crawl_retention_hours: float = Field(
        24.0, ge=0, le=1_000_000, description="delete finished crawls and their records after this; 0 keeps them"
    )
    dataset_retention_days: float | None = Field(None, gt=0, description="forget dataset builds not run for this long")

    http_cache: CacheMode = Field(CacheMode.OFF, description="off, revalidate or replay")
    http_cache_max_bytes: int = Field(512 * 1024**2, ge=1024**2, description="maximum size of the cache")
    artifacts_max_bytes: int = Field(
        1024**3, ge=0, description="maximum size of screenshots and HTML of failed browser runs; 0 keeps none"
    )

    log_level: str = Field("info", pattern="^(debug|info|warning|error)$")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order of precedence; former names come last, so that a current name always wins."""
        former = _FormerNames(settings_cls, (env_settings, dotenv_settings))
        return init_settings, env_settings, dotenv_settings, former

    @field_validator("egress_allow", mode="before")
    @classmethod
    def _parse_allow(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(AllowEntry.parse(entry.strip()) for entry in value.split(",") if entry.strip())

    @field_validator("workflow_modules", mode="before")
    @classmethod
    def _parse_modules(cls, value: Any) -> Any:
        return tuple(each.strip() for each in value.split(",") if each.strip()) if isinstance(value, str) else value

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _parse_networks(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(ipaddress.ip_network(entry.strip()) for entry in value.split(",") if entry.strip())

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _parse_names(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(name.strip().lower() for name in value.split(",") if name.strip())

    @model_validator(mode="before")
    @classmethod
    def _derive_broker_url(cls, values: Any) -> Any:
        """Use database 1 of APP_REDIS_URL as the broker if no broker address is set."""
        if isinstance(values, dict) and values.get("redis_url") and not values.get("celery_broker_url"):
            broker_url = urlunsplit(urlsplit(str(values["redis_url"]))._replace(path="/1"))
            return {**values, "celery_broker_url": broker_url}
        return values

    @field_validator("smtp_url")
    @classmethod
    def _check_smtp(cls, value: SecretStr | None) -> SecretStr | None:
        parts = None if value is None else urlsplit(value.get_secret_value())
        if parts is not None and (parts.scheme not in ("smtp", "smtps") or not parts.hostname):
            raise ValueError("write smtp://host:port or smtps://user:password@host:port")
        return value

    @model_validator(mode="after")
    def _read_needs_write(self) -> "Settings":
        if self.read_token is not None and self.write_token is None:
            raise ValueError("APP_READ_TOKEN is set without APP_WRITE_TOKEN: no client could write")
        return self

    def secrets(self) -> list[str]:
        """Return the values that must never appear in output: tokens, keys, and the passwords inside addresses."""
        secrets = [self.read_token, self.write_token]
        secrets += self.vault_key.get_secret_value().split(",") if self.vault_key else []
        smtp_url = self.smtp_url.get_secret_value() if self.smtp_url else ""
        urls = (self.store_url, self.redis_url, self.celery_broker_url, smtp_url)
        passwords = [urlsplit(url).password for url in urls]
        return [text for text in (*secrets, *passwords, *(unquote(each) for each in passwords if each)) if text]

    @property
    def agent(self) -> str:
        """The user agent, with the contact address of the operator if one is set."""
        return self.user_agent if self.contact_url is None else f"{self.user_agent} (+{self.contact_url})"

    @property
    def cache_dir(self) -> Path:
        return self.data_dir / "cache"

    @property
    def files_dir(self) -> Path:
        return self.data_dir / "files"

    @property
    def artifacts_dir(self) -> Path:
        return self.data_dir / "artifacts"

    @property
    def store_url(self) -> str:
        return self.database_url or f"sqlite:///{(self.data_dir / 'corral.db').absolute()}"


class _FormerNames(PydanticBaseSettingsSource):
    """Values under the former names of settings, from the environment and `.env`."""

    def __init__(self, settings_cls: type[BaseSettings], sources: tuple[PydanticBaseSettingsSource, ...]) -> None:
        super().__init__(settings_cls)
        self._variables = [source.env_vars for source in sources if isinstance(source, EnvSettingsSource)]

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return self._find(FORMER_NAMES[field_name]), field_name, False

    def __call__(self) -> dict[str, Any]:
        values = {name: self._find(former) for name, former in FORMER_NAMES.items()}
        for name, value in values.items():
            current = self._find(name)
            if value is not None and current is not None and current != value:
                _log.warning(
                    "former_setting_ignored: %s is ignored because %s is set",
                    _PREFIX + FORMER_NAMES[name].upper(),
                    _PREFIX + name.upper(),
                )
        return {name: value for name, value in values.items() if value is not None}

    def _find(self, name: str) -> str | None:
        candidates = (variables.get((_PREFIX + name).lower()) for variables in self._variables)
        return next((value for value in candidates if value is not None), None)


def load_settings(**overrides: Any) -> Settings:
    """Return the settings; raise BadConfiguration with every problem."""
    names, unread = _read_dotenv()
    problems = unread + _typos(names)
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        raise BadConfiguration(problems + [_describe(each, names) for each in error.errors()]) from None
    if problems:
        raise BadConfiguration(problems)
    return settings


def _typos(in_dotenv: list[str]) -> list[str]:
    """Return a problem for each unknown name with our prefix: most likely a typing error, otherwise ignored."""
    known = {_PREFIX + name.upper() for name in Settings.model_fields}
    former = {_PREFIX + name.upper() for name in FORMER_NAMES.values()}
    sources = {name: "the environment" for name in os.environ if name.upper().startswith(_PREFIX)}
    sources |= dict.fromkeys(in_dotenv, ".env")
    problems = []
    for name, where in sorted(sources.items()):
        if name.upper() in known | former:
            continue
        close = difflib.get_close_matches(name.upper(), known, n=1)
        hint = f"did you mean {close[0]}?" if close else "see the settings in docs/howto/settings.md"
        problems.append(f"{name} (in {where}) is not a setting; {hint}")
    return problems


def _read_dotenv() -> tuple[list[str], list[str]]:
    """Return our names in `.env`, parsed as pydantic parses it, and the problems of our lines in it."""
    path = Path(".env")
    if not path.is_file():
        return [], []
    try:
        bindings = list(parse_stream(io.StringIO(path.read_text("utf-8"))))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadConfiguration([f".env is not UTF-8 text (line {line}); save it in that encoding"]) from None
    except OSError as error:
        raise BadConfiguration([f".env cannot be read ({error.strerror}); check its owner and mode"]) from None
    ours = [each for each in bindings if _is_ours(each)]
    unread = [each.original.line for each in ours if each.error or each.value is None]
    return [each.key for each in ours if each.key], [f".env, line {line}, is not NAME=VALUE" for line in unread]


def _is_ours(binding: Binding) -> bool:
    """Return whether the name of a line has our prefix, or its text if the name is unreadable. Others are ignored."""
    name = binding.key or binding.original.string.strip().removeprefix("export").strip()
    return name.upper().startswith(_PREFIX)


def _describe(error: Any, in_dotenv: list[str]) -> str:
    name = _PREFIX + "_".join(str(part) for part in error["loc"]).upper() if error["loc"] else "the settings"
    message = str(error["msg"]).removeprefix("Value error, ")
    if not error["loc"]:
        return message
    value = "***" if any(word in name.lower() for word in _SECRET_WORDS) else repr(error["input"])[:80]
    former = _PREFIX + FORMER_NAMES.get(str(error["loc"][0]), "").upper()
    is_former = name not in (present := {each.upper() for each in (*os.environ, *in_dotenv)}) and former in present
    return f"{name}={value}{f' (given as {former})' if is_former else ''}: {message}"
