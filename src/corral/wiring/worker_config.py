"""The configuration that a node sends to its workers. A separate module, so that a node does not load worker code."""

from dataclasses import dataclass, field

from corral.domain.net.http_cache import CacheMode


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The settings that a worker process receives, as JSON."""

    egress_allow: list[str]
    user_agent: str
    max_body_bytes: int
    browser_concurrency: int
    max_value_chars: int = 1_000_000
    max_page_links: int = 100_000
    artifacts_dir: str | None = None  # where failed pages are stored; None stores none
    files_dir: str | None = None  # where crawls store files
    max_file_bytes: int = 0
    exports_dir: str | None = None  # where steps of workflows write files
    datasets_dir: str = ""  # where builds store their images
    hidden_paths: list[str] = field(default_factory=list)  # files and folders of Corral that no script sees
    cache_mode: str = CacheMode.OFF.value
    cache_dir: str = ""
    cache_max_bytes: int = 0
    browser_executable: str = ""
    proxy_prices: dict[str, list[float]] = field(default_factory=dict)  # by tier: per gigabyte, per request
    # For the items of a crawl.
    browser_s: float = 30.0
    retry_base_s: float = 10.0
    retry_factor: float = 3.0
    retry_cap_s: float = 300.0
    smtp_url: str = field(default="", repr=False)  # for alerts by mail
    smtp_from: str = ""
    vault_keys: list[str] = field(default_factory=list, repr=False)  # the keys of the sessions of jobs
