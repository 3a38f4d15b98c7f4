"""Options that a run of any kind may have; the node and the store read them without knowing the kind."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from corral.domain.net.proxy import ProxyPolicy
from corral.domain.quality.thresholds import USUAL_THRESHOLDS, Thresholds
from corral.domain.sites.session import SealedSession


@dataclass(frozen=True)
class CommonPayload:
    url: str = ""
    trusted_hosts: tuple[str, ...] = ()  # may be reached although they are private
    timeout_s: float | None = None  # None: the limit of the strategy
    requires_auth: bool = False
    verify_tls: bool = True
    proxy: ProxyPolicy | None = None
    login: SealedSession | None = None  # of a run without a job
    quality: Thresholds = USUAL_THRESHOLDS
    secret_kid: str | None = None  # id of the vault key for sealed values other than proxy and login

    @cached_property
    def trusted(self) -> frozenset[str]:
        return frozenset(self.trusted_hosts)

    @property
    def needs_login(self) -> bool:
        return self.requires_auth or self.login is not None

    @property
    def is_shareable(self) -> bool:
        """Return whether other runs may use the results: there was no login, and the certificate was verified."""
        return not self.requires_auth and self.verify_tls

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**common_options(document))

    def document(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "trusted_hosts": list(self.trusted_hosts),
            **self.timeout_option(),
            **self.access_options(),
        }

    def timeout_option(self) -> dict[str, Any]:
        return {} if self.timeout_s is None else {"timeout_s": self.timeout_s}

    def access_options(self) -> dict[str, Any]:
        """Return only options that differ from their default: payloads of earlier versions have no such keys."""
        options: dict[str, Any] = {}
        if self.login is not None:
            options["login"] = asdict(self.login)
        if self.requires_auth:
            options["requires_auth"] = True
        if not self.verify_tls:
            options["verify_tls"] = False
        if self.proxy is not None and not self.proxy.is_direct:
            options["proxy"] = self.proxy.document()
        if self.quality != USUAL_THRESHOLDS:
            options["quality"] = self.quality.document()
        return options


def common_options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `CommonPayload` from a document."""
    url, timeout_s = document.get("url"), document.get("timeout_s")
    proxy, login, quality = document.get("proxy"), document.get("login"), document.get("quality")
    return {
        "url": url if isinstance(url, str) else "",
        "trusted_hosts": tuple(document.get("trusted_hosts") or ()),
        "timeout_s": timeout_s if isinstance(timeout_s, int | float) and timeout_s else None,
        "requires_auth": bool(document.get("requires_auth")),
        "verify_tls": bool(document.get("verify_tls", True)),
        "proxy": ProxyPolicy.of(proxy) if proxy else None,
        "login": SealedSession(**login) if login else None,
        "quality": Thresholds.of(quality) if quality else USUAL_THRESHOLDS,
        "secret_kid": document.get("secret_kid"),
    }
