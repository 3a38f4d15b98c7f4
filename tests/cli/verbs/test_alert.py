"""Alerts of a campaign as its receivers see them: a webhook, a Slack-compatible one, and a mail server."""

import json
import socketserver
import subprocess
import threading
import time
from collections.abc import Callable
from email import message_from_bytes
from typing import Any

from tests.cli.command import Corral
from tests.cli.receiver import serve_receiver
from tests.engine.crawl.site import Page, serve_site
from tests.slack import SLACK

SECRET = "a canary of a secret"
ALLOWED = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*"}


class _Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as one message takes."""

    def handle(self) -> None:
        server, data = self.server, b""
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                while (part := self.rfile.readline()) != b".\r\n":
                    data += part
                server.got.append(data)  # type: ignore[attr-defined]
            self.wfile.write(b"250 fine\r\n" if verb != b"QUIT" else b"221 bye\r\n")


def verify(headers: dict[str, str], body: bytes) -> None:
    """Verify a message as a receiver does, with the program of another project."""
    assert abs(time.time() - int(headers["x-corral-timestamp"])) < 300, "an old message is refused"
    signed = f"{headers['x-corral-timestamp']}.{headers['x-corral-delivery']}.".encode() + body
    command = ["openssl", "dgst", "-sha256", "-hmac", SECRET, "-r"]
    found = subprocess.run(command, input=signed, capture_output=True, check=True, timeout=60).stdout.split()[0]
    assert headers["x-corral-signature"] == f"v1={found.decode()}"


def test_a_report_raises_alerts_that_are_signed_retried_and_sent_by_mail(corral: Corral) -> None:
    (corral.folder / "secret.txt").write_text(SECRET + "\n")
    mail = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail)
    mail.daemon_threads, mail.got = True, []  # type: ignore[attr-defined]
    threading.Thread(target=mail.serve_forever, daemon=True).start()
    smtp = {"APP_SMTP_URL": f"smtp://127.0.0.1:{mail.server_address[1]}", "APP_SMTP_FROM": "corral@example.com"}
    with (
        serve_receiver(503) as (hook, hooked),
        serve_receiver() as (chat, chatted),
        serve_site({"/0": Page(status=500)}) as bad,
    ):
        for channel in (
            ("ops", "--webhook", hook, "--secret", "@secret.txt"),
            ("chat", "--slack", chat),
            ("mail", "--email", "ops@example.com"),
            ("calm", "--slack", chat, "--rules", '{"statuses": [], "error_rate": 1, "breakers": false}'),
        ):
            done = corral.here("alert", "set", *channel, **ALLOWED)
            assert done.code == 0, done.err
        answer = corral("site", "scrape", f"{bad.url}/0", "--json", **ALLOWED, **smtp)
    mail.shutdown()
    mail.server_close()
    assert answer.code == 1, answer.err
    told = corral.here("site", "report", "--json").json
    assert told["errors"] == {"bad_response": 1}
    assert any("100% of the pages failed" in line for line in told["look_at"])
    assert len(told["alerts"]) == 3

    [first, second] = hooked
    assert first[1] == second[1], "the same message again, after 503"
    delivery, body = second[0]["x-corral-delivery"], second[1]
    assert first[0]["x-corral-delivery"] == delivery == json.loads(body)["delivery_id"]
    assert delivery in told["alerts"]
    for headers, sent in hooked:
        verify(headers, sent)
    [(_, chat_body)] = chatted
    assert "is failed" in json.loads(chat_body)["text"]
    [letter] = mail.got  # type: ignore[attr-defined]
    parsed = message_from_bytes(letter)
    assert (parsed["To"], parsed["From"]) == ("ops@example.com", "corral@example.com")
    assert told["campaign_id"] in parsed["Subject"]

    text = corral.here("site", "report").out
    assert "look at:" in text
    everything = corral.here("alert", "list", "--json").out + corral.here("run", "show", delivery, "--json").out
    everything += corral.here("events", delivery, "--json").out
    assert "canary" not in everything, "neither the address nor the secret is shown"
    database = b"".join(path.read_bytes() for path in corral.data.glob("corral.db*"))
    assert b"canary" not in database


def test_a_threshold_raises_one_alert_while_the_campaign_runs(corral: Corral) -> None:
    (corral.folder / "secret.txt").write_text(SECRET)
    broken = {f"/{n}": Page(status=500) for n in range(12)}
    settings = {**ALLOWED, "APP_RETRY_BASE_SECONDS": "0.01", "APP_BREAKER_FAILURES": "100"}
    # The slow site goes on until the alert about the other one has arrived.
    with serve_receiver() as (hook, hooked), serve_site(broken) as bad, serve_site(broken) as worse:
        wait = Page(on_ask=lambda: wait_until(lambda: bool(hooked)))
        with serve_site({"/0": wait}) as slow:
            for name, rules in (("ops", "{}"), ("calm", '{"error_rate": 1, "statuses": []}')):
                set_ = ("alert", "set", name, "--webhook", hook, "--secret", "@secret.txt", "--rules", rules)
                assert corral.here(*set_, **ALLOWED).code == 0
            urls = [f"{site.url}/{n}" for site in (bad, worse) for n in range(12)]
            answer = corral("site", "scrape", f"{slow.url}/0", *urls, "--json", **settings)
    assert answer.code == 3, answer.err
    told = corral.here("site", "report", "--json").json
    messages = [json.loads(body) for _, body in hooked]
    assert messages[0]["event"] == "threshold_exceeded"
    assert [each["delivery_id"] for each in messages] == told["alerts"]
    found = [(each["site"], each["rule"]) for message in messages for each in message["about"]["findings"]]
    assert len(found) == len(set(found)), "no finding is repeated"
    sites = {each.url.removeprefix("http://") for each in (bad, worse)}
    assert {(site, "error_rate") for site in sites} <= set(found)
    assert {(site, "status") for site in sites} <= set(found)
    early = [rule for message in messages if message["event"] == "threshold_exceeded" for rule in rules_of(message)]
    assert len(early) == len(set(early)), "one alert per threshold while it runs"


def rules_of(message: dict[str, Any]) -> set[str]:
    return {each["rule"] for each in message["about"]["findings"]}


def wait_until(condition: Callable[[], bool], within_s: float = 10.0) -> None:
    ends_at = time.monotonic() + within_s * SLACK
    while not condition() and time.monotonic() < ends_at:
        time.sleep(0.05)


def test_a_test_delivery_says_whether_it_arrived(corral: Corral) -> None:
    with serve_receiver() as (hook, got):
        assert corral.here("alert", "set", "chat", "--slack", hook, **ALLOWED).code == 0
        done = corral("alert", "test", "chat", "--json", **ALLOWED)
        assert (done.code, done.json["status"]) == (0, "completed"), done.err
        assert "a test of the alert channel chat" in json.loads(got[0][1])["text"]
        rotated = [corral.here("session", "rotate", "--json").json["rewrapped"] for _ in range(3)]
        assert rotated == [1, 1, 1]
        assert corral("alert", "test", "chat", **ALLOWED).code == 0, "its first key is gone"
    with serve_receiver(404) as (hook, _):
        assert corral.here("alert", "set", "chat", "--slack", hook, **ALLOWED).code == 0
        refused = corral("alert", "test", "chat", **ALLOWED)
        assert refused.code == 1
        assert "answered 404" in refused.err
    assert "would remove" in corral.here("alert", "rm", "chat", "--dry-run").out
    assert corral.here("alert", "rm", "chat").code == 0
    assert corral.here("alert", "test", "chat").code == 1
    assert corral.here("alert", "list", "--json").json == []


def test_a_channel_that_cannot_work_is_refused(corral: Corral) -> None:
    for arguments in (
        ("a",),
        ("a", "--webhook", "https://hooks.example/x"),
        ("a", "--slack", "http://127.0.0.1:1/x"),
        ("a", "--slack", "https://hooks.example/x", "--email", "x@example.com"),
        ("a", "--email", "nobody"),
        ("a", "--email", "x@example.com", "--rules", "[]"),
    ):
        assert corral.here("alert", "set", *arguments).code in (1, 2), arguments
    planned = corral.here("alert", "set", "a", "--email", "x@example.com", "--dry-run")
    assert "nothing was written" in planned.out
