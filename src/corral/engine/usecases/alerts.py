"""Channels of alerts, and the runs that deliver messages to them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from corral.domain.alerts.channel import AlertChannel, ChannelDraft
from corral.domain.alerts.message import (
    AlertMessage,
    make_campaign_message,
    make_test_message,
    make_threshold_message,
)
from corral.domain.campaigns.raised_alerts import RaisedAlerts
from corral.domain.campaigns.report import find_early_findings, find_findings
from corral.domain.jobs.job import Priority
from corral.domain.net.address import EgressPolicy
from corral.domain.ports.campaigns import AlertStore
from corral.domain.ports.stores import RunStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.alert import AlertPayload
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import NewRun, Run
from corral.domain.secret import Secret
from corral.engine.worker.kinds.alert import ALERT_KIND

_ATTEMPTS = 5
_TIMEOUT_S = 30.0

Seal = Callable[[Secret[str], str], str]


class Alerts:
    def __init__(self, store: AlertStore, runs: RunStore, policy: EgressPolicy, seal: Seal, wake: Waker) -> None:
        self._store = store
        self._runs = runs
        self._policy = policy
        self._seal = seal
        self._wake = wake

    async def put(self, draft: ChannelDraft) -> AlertChannel:
        """Store a channel with its address sealed, replacing a channel of the same name."""
        draft.check(self._policy)
        unsealed = AlertChannel(draft.name, draft.kind, draft.rules, draft.redacted, "")
        sealed = self._seal(draft.serialize(), unsealed.bound)
        channel = AlertChannel(draft.name, draft.kind, draft.rules, draft.redacted, sealed)
        await self._store.put(channel)
        return channel

    async def send_test(self, name: str) -> Run:
        """Queue a test message to a channel; the outcome of the run shows whether it arrived."""
        channel = await self._store.get(name)
        run = make_delivery(channel, make_test_message(name))
        [run_id], _ = await self._runs.add([(run, [EventDraft(EventKind.CREATED, {"channel": name})])])
        stored = await self._runs.get(run_id)
        self._wake(stored)
        return stored

    async def make_last_alerts(self, report: Mapping[str, Any], raised: RaisedAlerts) -> list[NewRun]:
        """Return the deliveries of the report of an ended campaign, with the findings that no earlier alert named."""
        deliveries = []
        for channel in await self._store.channels():
            findings = raised.choose_rest(channel.name, find_findings(report, channel.rules))
            if findings:
                deliveries.append(make_delivery(channel, make_campaign_message(report, findings)))
        return deliveries

    async def make_early_alerts(
        self, read_report: Callable[[], Awaitable[Mapping[str, Any]]], raised: RaisedAlerts
    ) -> tuple[list[NewRun], RaisedAlerts]:
        """Return the new deliveries of an active campaign, and all its raised alerts including these."""
        channels = await self._store.channels()
        if not channels:
            return [], raised
        report = await read_report()
        new_findings = {
            channel.name: raised.choose_new(channel.name, find_early_findings(report, channel.rules))
            for channel in channels
        }
        new_findings = {name: findings for name, findings in new_findings.items() if findings}
        deliveries = [
            make_delivery(channel, make_threshold_message(report, new_findings[channel.name]))
            for channel in channels
            if channel.name in new_findings
        ]
        return deliveries, raised.plus(new_findings, [run.id for run in deliveries]) if new_findings else raised


def make_delivery(channel: AlertChannel, message: AlertMessage) -> NewRun:
    payload = AlertPayload(
        timeout_s=_TIMEOUT_S,
        channel=channel.name,
        channel_kind=channel.kind.value,
        sealed=channel.sealed,
        bound=channel.bound,
        message=message.document(),
    )
    return ALERT_KIND.draft_run(payload, priority=Priority.HIGH, max_attempts=_ATTEMPTS)
