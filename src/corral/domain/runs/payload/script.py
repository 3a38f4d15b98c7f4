"""Options of a run that executes a script."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from corral.domain.runs.payload.common import CommonPayload, common_options
from corral.domain.scripts.command import build_command
from corral.domain.scripts.limits import USUAL_LIMITS, ScriptLimits, choose_timeout_s
from corral.domain.scripts.records import ON_STDOUT, RecordSource
from corral.domain.scripts.scraper import ScraperSpec

# Where a script finds the `custom_settings` and the `storage` of its configuration, as JSON.
SETTINGS_VARIABLE = "CORRAL_SCRAPER_SETTINGS"
STORAGE_VARIABLE = "CORRAL_SCRAPER_STORAGE"
# Arguments that the executor replaces: its own interpreter, and a file with the `input`.
PYTHON = "{python}"
INPUT_FILE = "{input_file}"


@dataclass(frozen=True)
class ScriptPayload(CommonPayload):
    """`timeout_s` is the time limit of one attempt."""

    argv: tuple[str, ...] = ()
    cwd: str = ""
    name: str = ""
    task_id: str = ""
    env: dict[str, str] = field(default_factory=dict)  # no secrets: they would be stored
    env_names: tuple[str, ...] = ()  # passed on from the environment of the node
    params: dict[str, Any] = field(default_factory=dict)
    input: dict[str, Any] | None = None  # a document that the script finds in a file: `{input_file}` in its arguments
    limits: ScriptLimits = USUAL_LIMITS
    records: RecordSource = ON_STDOUT
    echo: bool = False  # send the output to the node while the script runs
    uses_proxy: bool = True  # False: the script connects directly, without host limits and statistics
    retry_base_s: float | None = None  # None: the policy of the installation
    retry_cap_s: float | None = None

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            **common_options(document),
            argv=tuple(document.get("argv") or ()),
            cwd=document.get("cwd", ""),
            name=document.get("name", ""),
            task_id=document.get("task_id", ""),
            env=dict(document.get("env") or {}),
            env_names=tuple(document.get("env_names") or ()),
            params=dict(document.get("params") or {}),
            input=document.get("input"),
            limits=ScriptLimits.parse(document.get("limits") or {}),
            records=RecordSource.of(document.get("records", "stdout")),
            echo=bool(document.get("echo")),
            uses_proxy=bool(document.get("uses_proxy", True)),
            retry_base_s=document.get("retry_base_s"),
            retry_cap_s=document.get("retry_cap_s"),
        )

    def document(self) -> dict[str, Any]:
        optional = {
            "task_id": self.task_id,
            "env": self.env,
            "env_names": list(self.env_names),
            "params": self.params,
            "input": self.input,
            "limits": self.limits.document(),
            "echo": self.echo,
            "retry_base_s": self.retry_base_s,
            "retry_cap_s": self.retry_cap_s,
        }
        return {
            "name": self.name,
            "argv": list(self.argv),
            "cwd": self.cwd,
            "records": str(self.records),
            **self.timeout_option(),
            **({} if self.uses_proxy else {"uses_proxy": False}),
            **({"trusted_hosts": list(self.trusted_hosts)} if self.trusted_hosts else {}),
            **{name: value for name, value in optional.items() if value},
        }


def payload_for(
    spec: ScraperSpec,
    params: Mapping[str, Any],
    task_id: str = "",
    estimated_minutes: float | None = None,
    custom_settings: Mapping[str, Any] | None = None,
) -> ScriptPayload:
    """Return the payload of one execution of a scraper; BadInput names a parameter that is refused.

    `custom_settings` override those of the configuration.
    """
    chosen = {**spec.custom_settings, **(custom_settings or {})}
    configured = {SETTINGS_VARIABLE: chosen, STORAGE_VARIABLE: spec.storage}
    return ScriptPayload(
        timeout_s=choose_timeout_s(estimated_minutes, spec.timeout_s),
        argv=build_command(spec, params),
        cwd=spec.cwd,
        name=spec.name,
        task_id=task_id,
        env={name: json.dumps(values, default=str) for name, values in configured.items() if values},
        env_names=spec.env,
        params=dict(params),
        limits=spec.limits,
        records=spec.records,
        uses_proxy=spec.uses_proxy,
        retry_base_s=spec.retry.base_s,
        retry_cap_s=spec.retry.cap_s,
    )
