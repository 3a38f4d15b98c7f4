"""`corral alert`: channels of alerts, and a test of them."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, ReportOptions
from corral.cli.running import finish
from corral.cli.secret_input import text_or_file
from corral.cli.serving.finish import finish_serving
from corral.cli.stores import read_store
from corral.cli.writable_store import open_writable_store
from corral.domain.alerts.channel import AlertRules, ChannelDraft, ChannelKind
from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.runs.run import RunState
from corral.domain.secret import Secret
from corral.settings import Settings, load_settings
from corral.views.alerts import channel_read
from corral.wiring.roles import open_campaign_node, open_client

_WAIT_S = 60.0
_POLL_S = 0.1


@dataclass(frozen=True, kw_only=True)
class ChannelOptions:
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the channel.")]
    webhook: Annotated[
        str | None, typer.Option("--webhook", metavar="URL|@FILE", help="A webhook; its messages are signed.")
    ] = None
    slack: Annotated[str | None, typer.Option("--slack", metavar="URL|@FILE", help="A Slack-compatible webhook.")] = (
        None
    )
    email: Annotated[list[str] | None, typer.Option("--email", metavar="ADDRESS", help="Mail; repeatable.")] = None
    secret: Annotated[
        str | None, typer.Option("--secret", metavar="@FILE", help="The file with the secret that signs a webhook.")
    ] = None
    rules: Annotated[
        str | None,
        typer.Option("--rules", metavar="JSON", help='When to alert: {"error_rate": 0.1, "breakers": true}.'),
    ] = None
    report: ReportOptions

    def draft(self) -> ChannelDraft:
        is_set = [self.webhook is not None, self.slack is not None, bool(self.email)]
        if sum(is_set) != 1:
            raise BadInput("give one of --webhook, --slack and --email", field="kind")
        kind = ChannelKind.WEBHOOK if is_set[0] else ChannelKind.SLACK if is_set[1] else ChannelKind.EMAIL
        address = text_or_file(self.webhook or self.slack or "", f"--{kind.value}")
        secret = None if self.secret is None else Secret(text_or_file(self.secret, "--secret"))
        rules = AlertRules.of(_parse_rules(self.rules))
        return ChannelDraft(self.name, kind, address, secret, tuple(self.email or ()), rules)


@dataclass(frozen=True, kw_only=True)
class NamedChannel:
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the channel.")]
    report: ReportOptions


def set_channel(options: ChannelOptions) -> None:
    """Add or replace a channel. Its address and its secret are sealed and never shown again.

    @FILE keeps a secret out of the process list.

    \b
    corral alert set operations --webhook https://example.com/hook --secret @secret.txt
    corral alert set mail --email operations@example.com --rules '{"error_rate": 0.1}'
    """
    finish(_set(load_settings(), options))


def list_(as_json: AsJson = False) -> None:
    """List the channels, without their secrets.

    \b
    corral alert list
    corral alert list --json
    """
    finish(_list(load_settings(), as_json=as_json))


def send_test(options: NamedChannel) -> None:
    """Send a test message to a channel, and report whether it arrived.

    \b
    corral alert test operations
    """
    settings = load_settings()
    if options.report.dry_run:
        finish(_plan(settings, options, "send a test message to"))
    finish_serving(_test(settings, options.name, as_json=options.report.as_json))


def rm(options: NamedChannel) -> None:
    """Remove a channel.

    \b
    corral alert rm operations
    """
    settings = load_settings()
    if options.report.dry_run:
        finish(_plan(settings, options, "remove"))
    finish(_rm(settings, options.name, as_json=options.report.as_json))


async def _set(settings: Settings, options: ChannelOptions) -> int:
    draft, report = options.draft(), options.report
    if report.dry_run:
        draft.check(EgressPolicy(settings.egress_allow))
        plan = {"name": draft.name, "kind": draft.kind.value, "leads_to": draft.redacted}
        render.print_plan(f"set the alert channel {draft.name}", plan, as_json=report.as_json)
        return exits.DONE
    async with open_client(settings) as app:
        channel = await app.sites.alerts.put(draft)
    if report.as_json:
        render.print_json(channel_read(channel))
    else:
        print(f"alert channel {channel.name}: {channel.kind.value} to {channel.redacted}")
    return exits.DONE


async def _list(settings: Settings, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        channels = [channel_read(each) for each in await store.alerts.channels()]
    if as_json:
        render.print_json(channels)
        return exits.DONE
    rows = [(each["name"], each["kind"], each["leads_to"], render.compact_json(each["rules"])) for each in channels]
    render.print_table(("channel", "kind", "leads to…", "rules…"), rows, nothing="no alert channel yet")
    return exits.DONE


async def _test(settings: Settings, name: str, *, as_json: bool) -> int:
    async with open_campaign_node(settings.model_copy(update={"queue_feed": False})) as (app, source):
        run = await app.sites.alerts.send_test(name)
        source.choose([run.id])
        assert app.node is not None
        app.node.wake()
        until = time.monotonic() + _WAIT_S
        while not run.state.is_terminal and time.monotonic() < until:
            await asyncio.sleep(_POLL_S)
            run = await app.store.runs.get(run.id)
    has_arrived = run.state is RunState.COMPLETED
    if as_json:
        document: dict[str, Any] = {"channel": name, "delivery_id": run.id, "status": run.state.value}
        render.print_json({**document, "error_message": run.error_message})
    elif has_arrived:
        print(f"the channel {name} accepted the message {run.id}")
    else:
        hint = f"corral run show {run.id}"
        exits.complain(f"the channel {name} did not accept the message: {run.error_message or run.state.value}", hint)
    return exits.DONE if has_arrived else exits.FAILED


async def _plan(settings: Settings, options: NamedChannel, what: str) -> int:
    async with read_store(settings) as store:
        channel = await store.alerts.get(options.name)
    action = f"{what} the alert channel {options.name}"
    render.print_plan(action, channel_read(channel), as_json=options.report.as_json)
    return exits.DONE


async def _rm(settings: Settings, name: str, *, as_json: bool) -> int:
    async with open_writable_store(settings) as store:
        await store.alerts.delete(name)
    if as_json:
        render.print_json({"name": name, "deleted": True})
    else:
        print(f"alert channel {name} was removed")
    return exits.DONE


def _parse_rules(text: str | None) -> dict[str, Any]:
    try:
        rules = {} if text is None else json.loads(text)
    except ValueError:
        rules = None
    if not isinstance(rules, dict):
        raise BadInput("--rules must be a JSON object", field="rules", hint='{"error_rate": 0.1}')
    return rules
