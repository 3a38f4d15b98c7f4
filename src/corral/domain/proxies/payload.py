"""Options of the runs that refresh the proxy pool and check its proxies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from corral.domain.proxies.config import USUAL_PLAN, CheckPlan

# A chunk of silent proxies takes minutes; sources may be slow as well.
_LONGEST_S = 1800.0


@dataclass(frozen=True)
class ProxyRefreshPayload:
    """The sources are read from the configuration at execution, not stored here: their URLs may contain keys."""

    timeout_s: float = _LONGEST_S

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(timeout_s=document.get("timeout_s", _LONGEST_S))

    def document(self) -> dict[str, Any]:
        return {"timeout_s": self.timeout_s}


@dataclass(frozen=True)
class ProxyCheckPayload:
    proxies: tuple[int, ...] = ()
    plan: CheckPlan = USUAL_PLAN
    timeout_s: float = _LONGEST_S

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            proxies=tuple(document.get("proxies") or ()),
            plan=CheckPlan.of(document.get("plan") or {}),
            timeout_s=document.get("timeout_s", _LONGEST_S),
        )

    def document(self) -> dict[str, Any]:
        return {"proxies": list(self.proxies), "plan": self.plan.document(), "timeout_s": self.timeout_s}
