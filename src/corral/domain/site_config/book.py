"""The configurations of all sites as one value, and the merged configuration of one site.

Later sources win, value by value: the settings, the defaults file, the file of the site, values written over HTTP.
The pace that a person set for a host (`corral site pace`) wins over all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from corral.domain.cost.budget import Budget
from corral.domain.hosts.limiter import SitePace
from corral.domain.net.url import parse_target
from corral.domain.site_config.site_key import candidate_keys, parse_site_key

SETTINGS = "settings"
STORED = "api"


class SourcedValue(NamedTuple):
    value: Any
    source: str  # `settings`, the path of a file with its line, `api`, or `pace of HOST`


@dataclass(frozen=True, slots=True)
class SiteLayer:
    """The values of one source, each with its location, such as a file and a line."""

    values: Mapping[str, Any] = field(default_factory=dict)
    locations: Mapping[str, str] = field(default_factory=dict)

    def list_values(self) -> dict[str, SourcedValue]:
        return {name: SourcedValue(value, self.locations.get(name, "")) for name, value in self.values.items()}

    @staticmethod
    def of(values: Mapping[str, Any], source: str) -> "SiteLayer":
        return SiteLayer(values, dict.fromkeys(values, source))


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """The merged values of one site."""

    site: str
    values: Mapping[str, SourcedValue]

    def get(self, name: str) -> Any:
        sourced = self.values.get(name)
        return None if sourced is None else sourced.value

    @property
    def pace(self) -> SitePace:
        return SitePace(self.get("concurrency"), self.get("delay_s"))

    @property
    def budget(self) -> Budget:
        return Budget(**{name[7:]: each.value for name, each in self.values.items() if name.startswith("budget.")})

    @property
    def depends_on(self) -> tuple[str, ...]:
        return self.get("depends_on") or ()

    @property
    def urls(self) -> tuple[str, ...]:
        return self.get("urls") or ()


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """The content of the folder of configuration files."""

    defaults: SiteLayer = field(default_factory=SiteLayer)
    sites: Mapping[str, SiteLayer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SiteBook:
    files: SiteFiles = field(default_factory=SiteFiles)
    stored: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # checked and flat

    @property
    def sites(self) -> list[str]:
        return sorted({*self.files.sites, *self.stored})

    def dependencies(self) -> dict[str, tuple[str, ...]]:
        """Return the sites that each configured site waits for."""
        return {site: self.find(site).depends_on for site in self.sites}

    @property
    def is_empty(self) -> bool:
        return not (self.files.defaults.values or self.files.sites or self.stored)

    def find(self, site_or_url: str, base: SiteLayer | None = None) -> SiteConfig:
        """Merge the configuration of the site of a URL, a host or a domain; `base` has the values of the settings."""
        key = parse_site_key(site_or_url)
        target = parse_target(site_or_url if "://" in site_or_url else f"http://{site_or_url}")
        merged = {} if base is None else base.list_values()
        merged |= self.files.defaults.list_values()
        for candidate in reversed(candidate_keys(target)):
            merged |= self.files.sites.get(candidate, SiteLayer()).list_values()
        for candidate in reversed(candidate_keys(target)):
            merged |= SiteLayer.of(self.stored.get(candidate, {}), STORED).list_values()
        return SiteConfig(key, merged)

    def pace_of(self, host_key: str) -> SitePace | None:
        """Return the configured pace of a host, or None."""
        if self.is_empty:
            return None
        pace = self.find(host_key).pace
        return None if pace == SitePace() else pace
