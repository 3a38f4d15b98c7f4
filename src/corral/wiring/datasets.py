"""Dataset builds of this process: the configuration file, the run, and the hosts it may reach."""

from pathlib import Path
from typing import Any

from corral.domain.datasets.config import DatasetConfig, parse_config
from corral.domain.datasets.payload import DatasetPayload
from corral.domain.datasets.sources import SourceType
from corral.domain.errors import BadConfiguration
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.url import Target, parse_target
from corral.settings import Settings
from corral.wiring.coverage import to_plain

_DEFAULT_PORTS = (80, 443)
_MAX_BYTES = 16 * 1024 * 1024


def read_dataset_config(path: Path) -> tuple[dict[str, Any], DatasetConfig]:
    """The document of a YAML or JSON file, and what it says; BadConfiguration with every problem."""
    import yaml  # noqa: PLC0415 - only where a file is read

    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadConfiguration([f"{path}: is larger than {_MAX_BYTES // 2**20} MiB; put addresses into a file"])
        document = to_plain(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise BadConfiguration(
            [f"there is no configuration {path}; see docs/howto/datasets.md for an example"]
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration([f"{path}: cannot be read ({error})"]) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        raise BadConfiguration([f"{path}: {where}{getattr(error, 'problem', None) or 'is no YAML'}"]) from None
    return document, parse_config(document, str(path))


def make_dataset_payload(settings: Settings, document: dict[str, Any], config: DatasetConfig) -> DatasetPayload:
    """The run of a build that a person started here. The hosts in the configuration may be reached, and only those."""
    trusted: dict[str, None] = {}
    policy = EgressPolicy(settings.egress_allow)
    for source in config.sources:
        for url in source.urls:
            plain = url.replace("{keyword}", "x").replace("{page}", "1") if source.type is SourceType.SEARCH else url
            target = parse_target(plain, max_chars=8192)
            hosts = _name_hosts(target)
            check_literal(target, policy, trusted_hosts=frozenset(hosts))
            trusted |= dict.fromkeys(hosts)
    return DatasetPayload(document, str(Path.cwd()), trusted_hosts=tuple(trusted), may_execute=True)


def _name_hosts(target: Target) -> tuple[str, ...]:
    """The host with its port; with a default port, both http and https."""
    ports = _DEFAULT_PORTS if target.port in _DEFAULT_PORTS else (target.port,)
    return tuple(f"{target.host}:{port}" for port in ports)
