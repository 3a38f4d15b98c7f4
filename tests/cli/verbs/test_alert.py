"""Alerts of a campaign as its receivers see them: a webhook, a Slack-compatible one, and a mail server."""

import hashlib
import hmac
import json
import socketserver
import threading
from email import message_from_bytes

from tests.cli.command import Corral
from tests.cli.receiver import receiving
from tests.engine.crawl.site import Page, served

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


def test_a_report_raises_alerts_that_are_signed_retried_and_sent_by_mail(corral: Corral) -> None:
    (corral.folder / "secret.txt").write_text(SECRET + "\n")
    mail = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Mail)
    mail.daemon_threads, mail.got = True, []  # type: ignore[attr-defined]
    threading.Thread(target=mail.serve_forever, daemon=True).start()
    smtp = {"APP_SMTP_URL": f"smtp://127.0.0.1:{mail.server_address[1]}", "APP_SMTP_FROM": "corral@example.com"}
    with receiving(503) as (hook, hooked), receiving() as (chat, chatted), served({"/0": Page(status=500)}) as bad:
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
    expected = hmac.new(SECRET.encode(), f"{delivery}.".encode() + body, hashlib.sha256).hexdigest()
    assert second[0]["x-corral-signature"] == f"v1={expected}"
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


def test_a_test_delivery_says_whether_it_arrived(corral: Corral) -> None:
    with receiving() as (hook, got):
        assert corral.here("alert", "set", "chat", "--slack", hook, **ALLOWED).code == 0
        done = corral("alert", "test", "chat", "--json", **ALLOWED)
        assert (done.code, done.json["status"]) == (0, "completed"), done.err
        assert "a test of the alert channel chat" in json.loads(got[0][1])["text"]
        rotated = [corral.here("session", "rotate", "--json").json["rewrapped"] for _ in range(3)]
        assert rotated == [1, 1, 1]
        assert corral("alert", "test", "chat", **ALLOWED).code == 0, "its first key is gone"
    with receiving(404) as (hook, _):
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
