"""The configuration of a site, as the API and the command line show it: each value with its source."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import StoredHost
from corral.domain.net.pool_policy import is_pool_text
from corral.domain.net.proxy import DIRECT, parse_proxy
from corral.domain.site_config.book import SiteConfig, SourcedValue
from corral.domain.site_config.values import NAMES, find_problems


class SiteValueRead(BaseModel):
    value: Any
    source: str = Field(description="`settings`, a file with its line, `api`, or the pace of a host")


class SiteConfigRead(BaseModel):
    site: str = Field(description="the registrable domain, with a port only if the site is one port of a host")
    values: dict[str, SiteValueRead]
    stored: dict[str, Any] | None = Field(description="the configuration written over HTTP; it overrides the files")
    updated_at: datetime | None = None


class SiteConfigChange(BaseModel):
    """A configuration that replaces the stored one. Files, defaults and settings provide the omitted options."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={"examples": [{"concurrency": 2, "delay_s": 0.5}], "maxProperties": len(NAMES)},
    )

    def check(self) -> dict[str, Any]:
        """Return the document; BadInput names every problem."""
        document = {name: value for name, value in (self.model_extra or {}).items() if value is not None}
        problems = list(find_problems(document))
        if problems:
            message = "; ".join(f"{each.path or 'body'}: {each.message}" for each in problems)
            raise BadInput(message, field=problems[0].path or None, hint=f"options: {', '.join(NAMES)}")
        text = document.get("proxy_policy", DIRECT)
        proxy = None if is_pool_text(text) else parse_proxy(text)
        if proxy is not None and proxy.user is not None:
            raise BadInput(
                "the proxy of a site cannot have a password here",
                field="proxy_policy",
                hint="give the proxy with its password to a job, or write it into the configuration file of the site",
            )
        return document


def site_config_read(config: SiteConfig, hosts: Sequence[StoredHost] = ()) -> dict[str, Any]:
    values = {name: _read_value(name, each) for name, each in sorted(config.values.items())}
    paced = {
        f"{name} of {host.host_key}": {"value": value, "source": f"pace of {host.host_key}"}
        for host in hosts
        for name, value in (("concurrency", host.pace_override.concurrency), ("delay_s", host.pace_override.delay_s))
        if value is not None
    }
    return {"site": config.site, "values": values | paced}


def _read_value(name: str, sourced: SourcedValue) -> dict[str, Any]:
    value = redact_proxy(sourced.value) if name == "proxy_policy" else sourced.value
    return {"value": list(value) if isinstance(value, tuple) else value, "source": sourced.source}


def redact_proxy(text: str) -> str:
    """Return the text without its password."""
    proxy = None if is_pool_text(text) else parse_proxy(text)
    return text if proxy is None else proxy.redacted
