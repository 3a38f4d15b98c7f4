"""Options several verbs share, and what they mean."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from corral.domain.errors import BadInput
from corral.domain.ids import JobId, is_id, new_id
from corral.domain.jobs.job import FieldSpec, Job, OnTrouble, Priority, Strategy

if TYPE_CHECKING:
    from corral.domain.net.proxy import ProxyPolicy
    from corral.domain.net.url import Target
    from corral.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything and say what would be done; do nothing.")]
Fields = Annotated[str, typer.Option("--fields", metavar="A,B,…", help="Names of the fields to collect.")]
Css = Annotated[
    list[str] | None,
    typer.Option(
        "--css", metavar="NAME=SELECTOR", help="A field by CSS selector; NAME=SELECTOR@ATTR takes an attribute."
    ),
]
Xpath = Annotated[
    list[str] | None, typer.Option("--xpath", metavar="NAME=EXPRESSION", help="A field by XPath expression.")
]
Jsonpath = Annotated[
    list[str] | None, typer.Option("--jsonpath", metavar="NAME=PATH", help="A field by its path in a JSON answer.")
]
StrategyOption = Annotated[Strategy, typer.Option("--strategy", help="How to get the page.")]
MaxAttempts = Annotated[
    int | None, typer.Option("--max-attempts", min=1, max=100, help="Tries before the run fails (default 3).")
]
TimeoutS = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        max=3600,
        help="Time for one attempt in all. Over HTTP it also raises the 10 s within which the first byte has to come.",
    ),
]
ProxyOption = Annotated[
    str | None,
    typer.Option(
        "--proxy",
        metavar="URL|@FILE",
        help="Fetch through http://, https:// or socks5://[user:password@]host:port. @FILE keeps a password out of"
        " the process list. direct uses none.",
    ),
]
NoVerifyTls = Annotated[
    bool,
    typer.Option(
        "--no-verify-tls",
        help="Take any certificate, expired, self-signed or for another host: whoever is on the way can read and"
        " change everything. Each run says so.",
    ),
]
NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Add it although its target cannot be resolved or answers 5xx right now.")
]
OnCaptcha = Annotated[
    OnTrouble, typer.Option("--on-captcha", help="wait holds a run that meets a captcha until a person has helped.")
]
OnMissing = Annotated[
    OnTrouble, typer.Option("--on-missing", help="wait holds a run that misses a field until a person has helped.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, help="How many to show at most.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")]

DEFAULT_PORTS = (80, 443)
_ATTRIBUTE = re.compile(r"(?P<css>.+)@(?P<attr>[A-Za-z][\w:-]*)", re.DOTALL)


class PriorityName(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def value_of(self) -> Priority:
        return Priority[self.name]


def checked_id(text: str, what: str) -> str:
    """An id in its canonical spelling; one that cannot be an id is a typing error, not a missing thing."""
    if not is_id(text):
        raise BadInput(
            f"{text[:80]!r} is not the id of a {what}",
            field=what,
            hint=f"ids look like 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b; `corral {what} list` shows them",
        )
    return text.lower()


def parse_fields(
    names: str, css: Sequence[str] | None, xpath: Sequence[str] | None = None, jsonpath: Sequence[str] | None = None
) -> tuple[FieldSpec, ...]:
    """The asked fields, checked as the API checks them."""
    from corral.engine.usecases.jobs import check_fields

    specs = [FieldSpec(name.strip()) for name in names.split(",")] if names else []
    specs += [_by_css(text) for text in css or ()]
    specs += [_by_xpath(text) for text in xpath or ()]
    specs += [_by_jsonpath(text) for text in jsonpath or ()]
    if not specs:
        raise BadInput("no fields are asked for", field="fields", hint="for example --fields title,price")
    check_fields(specs)
    return tuple(specs)


def _by_css(text: str) -> FieldSpec:
    from corral.extract.selectors.spec import compile_check

    name, selector = _named("css", text, "SELECTOR", "price=.price")
    found = _ATTRIBUTE.fullmatch(selector)
    chosen, attribute = (found["css"], found["attr"]) if found else (selector, None)
    return FieldSpec(name, css=compile_check(chosen, field="css"), attr=attribute)


def _by_xpath(text: str) -> FieldSpec:
    from corral.extract.selectors.spec import check_xpath

    name, expression = _named("xpath", text, "EXPRESSION", "price=//b/@data-price")
    return FieldSpec(name, xpath=check_xpath(expression, field="xpath"))


def _by_jsonpath(text: str) -> FieldSpec:
    from corral.domain.json_path import parse_query

    name, path = _named("jsonpath", text, "PATH", "price=$.items[0].price")
    parse_query(path, field="jsonpath")
    return FieldSpec(name, jsonpath=path)


def _named(option: str, text: str, what: str, example: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    if not equals or not name.strip():
        told = f"--{option} {text[:80]!r} is not NAME={what}"
        raise BadInput(told, field=option, hint=f"for example --{option} {example}")
    return name.strip(), rest


def drafted_job(
    settings: "Settings",
    url: str,
    fields: tuple[FieldSpec, ...],
    *,
    strategy: Strategy = Strategy.AUTO,
    frequency: str = "on_demand",
    priority: Priority = Priority.MEDIUM,
    max_attempts: int | None = None,
    timeout_s: float | None = None,
    respect_robots: bool = True,
    verify_tls: bool = True,
    requires_auth: bool = False,
    trusts_host: bool = False,
    proxy: "ProxyPolicy | None" = None,
    on_captcha: OnTrouble = OnTrouble.FAIL,
    on_missing: OnTrouble = OnTrouble.FAIL,
) -> Job:
    """The job the arguments describe, checked as far as that goes without asking anybody."""
    from corral.domain.jobs.schedule import check_frequency
    from corral.domain.net.address import EgressPolicy, check_literal
    from corral.domain.net.url import parse_target

    target = parse_target(url)
    trusted = trusted_for(settings, url) if trusts_host else ()
    check_literal(target, EgressPolicy(settings.egress_allow), trusted_hosts=frozenset(trusted))
    check_frequency(frequency)
    return Job(
        id=JobId(new_id()),
        target_url=target.url,
        fields=fields,
        created_at=datetime.now(UTC),
        requires_auth=requires_auth,
        frequency=frequency,
        strategy=strategy,
        priority=priority,
        max_attempts=max_attempts or settings.default_max_attempts,
        timeout_s=timeout_s,
        respect_robots=respect_robots,
        verify_tls=verify_tls,
        trusted_hosts=trusted,
        proxy=proxy,
        on_captcha=on_captcha,
        on_missing=on_missing,
    )


def proxy_of(settings: "Settings", text: str | None, *, dry_run: bool) -> "ProxyPolicy | None":
    """The proxy that was typed, or lies in a file; a dry run seals nothing, because that may make a key."""
    from corral.cli.secret_input import text_or_file
    from corral.domain.net.address import EgressPolicy
    from corral.domain.secret import Secret
    from corral.engine.usecases.jobs import kept_proxy
    from corral.wiring.app import vault_of

    if text is None:
        return None

    def seal(known_by: Secret[str], bound: str) -> str:
        return "" if dry_run else vault_of(settings).keys_to_seal().seal_text(known_by, bound)

    return kept_proxy(text_or_file(text, "--proxy"), EgressPolicy(settings.egress_allow), seal, field="proxy")


def trusted_for(settings: "Settings", url: str) -> tuple[str, ...]:
    """What a person who typed this address may reach by it; BadInput where that is nothing."""
    from corral.domain.net.address import EgressPolicy, check_literal
    from corral.domain.net.url import parse_target

    target = parse_target(url)
    trusted = _trusted(target)
    check_literal(target, EgressPolicy(settings.egress_allow), trusted_hosts=frozenset(trusted))
    return trusted


def _trusted(target: "Target") -> tuple[str, ...]:
    """The host that was typed, at its port; a plain web address may also change between http and https."""
    ports = DEFAULT_PORTS if target.port in DEFAULT_PORTS else (target.port,)
    return tuple(f"{target.host}:{port}" for port in ports)
