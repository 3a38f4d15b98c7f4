"""The proxy configuration (`config/proxies.yaml`): sources, checks, tiers and the policies of sites."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.pool_policy import POOL_TIERS, Tier, is_pool_text, parse_pool_policy
from corral.domain.net.proxy import DIRECT, NONE, SCHEMES
from corral.domain.net.url import parse_target
from corral.domain.redaction import redact

_TOP = frozenset({"sources", "check", "tiers", "sites", "refresh_minutes", "export"})
_CHECK = frozenset({"judge", "target", "timeout_s", "concurrency"})
_KINDS = ("file", "url", "command")


@dataclass(frozen=True, slots=True)
class ProxyListSource:
    kind: str  # file, url or command
    where: tuple[str, ...]  # the path, the address, or the words of the command
    scheme: str = "http"
    tier: Tier = Tier.DATACENTRE

    @property
    def name(self) -> str:
        """Return the source without secrets: the address of a provider often contains a key."""
        return redact(self.where[0])[:200]

    def document(self) -> dict[str, Any]:
        return {"kind": self.kind, "where": list(self.where), "scheme": self.scheme, "tier": self.tier.value}

    @staticmethod
    def of(document: Mapping[str, Any]) -> "ProxyListSource":
        tier = Tier(document["tier"])
        return ProxyListSource(document["kind"], tuple(document["where"]), document["scheme"], tier)


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """How to check proxies. `judge` is an echo page, `target` a page that a proxy has to reach."""

    judge: str | None = None
    target: str | None = None
    timeout_s: float = 10.0
    concurrency: int = 250

    @property
    def problem(self) -> str | None:
        if self.judge is None and self.target is None:
            return "neither `check.judge` nor `check.target` is set in the proxy configuration"
        return None

    def document(self) -> dict[str, Any]:
        return {
            "judge": self.judge,
            "target": self.target,
            "timeout_s": self.timeout_s,
            "concurrency": self.concurrency,
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> "CheckPlan":
        usual = CheckPlan()
        return CheckPlan(
            document.get("judge"),
            document.get("target"),
            float(document.get("timeout_s", usual.timeout_s)),
            int(document.get("concurrency", usual.concurrency)),
        )


USUAL_PLAN = CheckPlan()


@dataclass(frozen=True, slots=True)
class TierPrice:
    """The price of a tier, in the currency of the other prices."""

    gb: float = 0.0
    request: float = 0.0

    def nanos_of(self, requests: int, size: int) -> int:
        """Return the price of requests and bytes, in billionths."""
        return round(self.request * requests * 1e9 + self.gb * size)


@dataclass(frozen=True, slots=True)
class LiveExport:
    """The file that every refresh writes."""

    file: str | None = None  # None: live_proxies.json in the data folder
    with_credentials: bool = False


USUAL_EXPORT = LiveExport()


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    sources: tuple[ProxyListSource, ...] = ()
    check: CheckPlan = USUAL_PLAN
    costs: Mapping[Tier, TierPrice] = field(default_factory=dict)
    sites: Mapping[str, str] = field(default_factory=dict)  # policy by host or domain, without `www.`
    refresh_minutes: float = 0.0  # 0: no schedule
    export: LiveExport = USUAL_EXPORT
    problems: tuple[str, ...] = ()

    def policy_for(self, host: str) -> str | None:
        """Return the policy of the host, or of a domain above it."""
        name = host.removeprefix("www.")
        while name:
            if name in self.sites:
                return self.sites[name]
            name = name.partition(".")[2]
        return None


def parse_config(document: Any) -> ProxyConfig:
    """Parse the whole document, and collect every problem."""
    if document is None:
        return ProxyConfig()
    if not isinstance(document, Mapping):
        return ProxyConfig(problems=("the document is not a mapping",))
    problems = [f"unknown key {name}" for name in sorted(set(map(str, document)) - _TOP)]
    sources = _read_sources(document.get("sources"), problems)
    check = _read_check(document.get("check"), problems)
    minutes = _read_number(document.get("refresh_minutes", 0), "refresh_minutes", problems)
    costs = _read_costs(document.get("tiers"), problems)
    sites = _read_sites(document.get("sites"), problems)
    export = _read_export(document.get("export"), problems)
    return ProxyConfig(sources, check, costs, sites, minutes, export, tuple(problems))


def _read_sources(entries: Any, problems: list[str]) -> tuple[ProxyListSource, ...]:
    if entries is None:
        return ()
    if not isinstance(entries, list):
        problems.append("sources is not a list")
        return ()
    sources = [_read_source(each, f"sources[{index}]", problems) for index, each in enumerate(entries)]
    return tuple(each for each in sources if each is not None)


def _read_source(entry: Any, where: str, problems: list[str]) -> ProxyListSource | None:
    if not isinstance(entry, Mapping):
        problems.append(f"{where} is not a mapping")
        return None
    kinds = [kind for kind in _KINDS if kind in entry]
    if len(kinds) != 1:
        problems.append(f"{where} needs one of file, url and command")
        return None
    problems.extend(f"{where}: unknown key {name}" for name in sorted(set(entry) - {*_KINDS, "scheme", "tier"}))
    kind, value = kinds[0], entry[kinds[0]]
    words = value if kind == "command" else [value]
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
        form = "a list of words" if kind == "command" else "a text"
        problems.append(f"{where}.{kind} is not {form}")
        return None
    scheme, tier = entry.get("scheme", "http"), entry.get("tier", Tier.DATACENTRE.value)
    if scheme not in SCHEMES:
        problems.append(f"{where}.scheme is none of {', '.join(SCHEMES)}")
        return None
    if tier not in set(POOL_TIERS):
        problems.append(f"{where}.tier is none of {', '.join(POOL_TIERS)}")
        return None
    if kind == "url" and not _is_url(words[0]):
        problems.append(f"{where}.url is not an http or https address")
        return None
    return ProxyListSource(kind, tuple(words), scheme, Tier(tier))


def _read_check(section: Any, problems: list[str]) -> CheckPlan:
    if section is None:
        return CheckPlan()
    if not isinstance(section, Mapping):
        problems.append("check is not a mapping")
        return CheckPlan()
    problems.extend(f"check: unknown key {name}" for name in sorted(set(map(str, section)) - _CHECK))
    for name in ("judge", "target"):
        if section.get(name) is not None and not _is_url(section[name]):
            problems.append(f"check.{name} is not an http or https address")
            return CheckPlan()
    usual = CheckPlan()
    timeout_s = _read_number(section.get("timeout_s", usual.timeout_s), "check.timeout_s", problems, 0.1, 300)
    concurrency = _read_number(section.get("concurrency", usual.concurrency), "check.concurrency", problems, 1, 2000)
    return CheckPlan(section.get("judge"), section.get("target"), timeout_s, int(concurrency))


_PRICES = {"cost_per_gb": "gb", "cost_per_request": "request"}


def _read_costs(section: Any, problems: list[str]) -> dict[Tier, TierPrice]:
    prices_by_tier: dict[Tier, TierPrice] = {}
    for name, value in section.items() if isinstance(section, Mapping) else ():
        if name not in set(Tier) or not isinstance(value, Mapping) or not set(value) <= set(_PRICES) or not value:
            problems.append(f"tiers.{name}: write {' or '.join(_PRICES)} for one of {', '.join(Tier)}")
            continue
        prices = {_PRICES[key]: _read_number(price, f"tiers.{name}.{key}", problems) for key, price in value.items()}
        prices_by_tier[Tier(name)] = TierPrice(**prices)
    if section is not None and not isinstance(section, Mapping):
        problems.append("tiers is not a mapping")
    return prices_by_tier


def _read_sites(section: Any, problems: list[str]) -> dict[str, str]:
    policies: dict[str, str] = {}
    for name, text in section.items() if isinstance(section, Mapping) else ():
        try:
            policies[str(name).lower().removeprefix("www.")] = read_policy(str(text))
        except BadInput as problem:
            problems.append(f"sites.{name}: {problem.message}")
    if section is not None and not isinstance(section, Mapping):
        problems.append("sites is not a mapping")
    return policies


def _read_export(section: Any, problems: list[str]) -> LiveExport:
    if section is None:
        return USUAL_EXPORT
    is_valid = isinstance(section, Mapping) and set(section) <= {"file", "with_credentials"}
    file, with_credentials = (section.get("file"), section.get("with_credentials", False)) if is_valid else (None, None)
    if not isinstance(with_credentials, bool) or not isinstance(file, str | None) or file == "":
        problems.append("export: write file (a path) and with_credentials (true or false)")
        return USUAL_EXPORT
    return LiveExport(file, with_credentials)


def read_policy(text: str) -> str:
    """Parse a policy of the configuration. A proxy address is refused: it would put credentials into the file."""
    if text in (DIRECT, NONE):
        return DIRECT
    if is_pool_text(text):
        return parse_pool_policy(text).text
    raise BadInput("a policy is direct, pool or tiered", hint="a fixed proxy belongs to a job")


def _read_number(value: Any, where: str, problems: list[str], minimum: float = 0.0, maximum: float = 1e6) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not minimum <= value <= maximum:
        problems.append(f"{where} is not a number from {minimum:g} to {maximum:g}")
        return minimum
    return float(value)


def _is_url(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(parse_target(value))
    except BadInput:
        return False
