"""The inventory of an S3-compatible store: signed requests, pages, and listings that cannot be trusted."""

import hashlib
import hmac
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit
from xml.sax.saxutils import escape

import pytest

from tests.cli.command import Corral

_SECRET = "a-secret-of-the-store"
_INVENTORY = """
sources:
  games:
    scraper: games_scraper
    expected: {{keys: ["1", "2", "3 a+b", "4", "5"], dimension: game}}
    inventory:
      s3: {{bucket: data, prefix: raw/, pattern: "{{game}}.json", endpoint: "{endpoint}", region: eu-west-1}}
    rules: {{min_bytes: 10, fresh: 30d}}
"""


class Bucket(ThreadingHTTPServer):
    """Lists two objects at a time, to clients whose signature is right."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects = {
            "raw/1.json": (50, "2999-01-01T00:00:00.000Z"),
            "raw/2.json": (3, "2999-01-01T00:00:00.000Z"),
            "raw/3 a+b.json": (50, "2999-01-01T00:00:00.000Z"),
            "raw/4.json": (50, "2001-01-01T00:00:00.000Z"),
            "raw/notes.txt": (50, "2999-01-01T00:00:00.000Z"),
        }
        self.encodes = True
        self.gives_tokens = True
        self.requests = 0


class _Handler(BaseHTTPRequestHandler):
    server: Bucket

    def do_GET(self) -> None:
        self.server.requests += 1
        if not _is_signed(self.path, dict(self.headers)):
            self._answer(403, "<Error><Code>SignatureDoesNotMatch</Code><Message>check the keys</Message></Error>")
            return
        query = dict(parse_qsl(urlsplit(self.path).query))
        names = sorted(name for name in self.server.objects if name.startswith(query["prefix"]))
        start = int(query.get("continuation-token", "0"))
        has_more = start + 2 < len(names)
        token = f"<NextContinuationToken>{start + 2}</NextContinuationToken>" if self.server.gives_tokens else ""
        more = f"<IsTruncated>{str(has_more).lower()}</IsTruncated>" + (token if has_more else "")
        encoding = "<EncodingType>url</EncodingType>" if self.server.encodes else ""
        listed = "".join(map(self._describe, names[start : start + 2]))
        self._answer(200, f'<ListBucketResult xmlns="http://s3.test/">{encoding}{more}{listed}</ListBucketResult>')

    def _describe(self, name: str) -> str:
        size, modified = self.server.objects[name]
        shown = quote(name).replace("%20", "+") if self.server.encodes else escape(name)
        return f"<Contents><Key>{shown}</Key><Size>{size}</Size><LastModified>{modified}</LastModified></Contents>"

    def _answer(self, status: int, text: str) -> None:
        body = f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def _is_signed(path: str, headers: dict[str, str]) -> bool:
    """Signature version 4, computed again from what arrived."""
    sent = {name.lower(): value for name, value in headers.items()}
    parts = dict(part.strip().split("=", 1) for part in sent["authorization"].partition(" ")[2].split(","))
    scope = parts["Credential"].partition("/")[2]
    names = parts["SignedHeaders"]
    lines = "".join(f"{name}:{sent[name].strip()}\n" for name in names.split(";"))
    address = urlsplit(path)
    request = "\n".join(["GET", address.path, address.query, lines, names, sent["x-amz-content-sha256"]])
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", sent["x-amz-date"], scope, digest])
    key = f"AWS4{_SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return parts["Signature"] == hmac.digest(key, text.encode(), "sha256").hex()


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    server = Bucket()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def _reconcile(corral: Corral, bucket: Bucket, secret: str = _SECRET) -> Any:
    (corral.folder / "config").mkdir(exist_ok=True)
    endpoint = f"http://127.0.0.1:{bucket.server_port}"
    (corral.folder / "config/data_inventory.yaml").write_text(_INVENTORY.format(endpoint=endpoint))
    settings = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*", "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": secret}
    return corral.here("queue", "reconcile", "--dry-run", "--json", **settings)


@pytest.mark.parametrize("encodes", [True, False])
def test_objects_are_judged_by_name_size_and_time_over_all_pages(corral: Corral, bucket: Bucket, encodes: bool) -> None:
    bucket.encodes = encodes
    answer = _reconcile(corral, bucket)
    assert answer.code == 0, answer.err
    assert answer.json["by_type"] == {"missing": 1, "too_small": 1, "stale": 1}
    assert sorted(task["game"] for task in answer.json["queue"]["tasks"]) == ["2", "4", "5"]
    assert bucket.requests == 3


def test_a_listing_that_is_cut_is_no_inventory(corral: Corral, bucket: Bucket) -> None:
    bucket.gives_tokens = False
    answer = _reconcile(corral, bucket)
    assert (answer.code, answer.json["tasks"]) == (1, 0)
    assert "the listing is cut" in answer.err


def test_a_refusal_of_the_store_is_a_problem_and_does_not_show_the_secret(corral: Corral, bucket: Bucket) -> None:
    answer = _reconcile(corral, bucket, secret="another-secret")
    assert (answer.code, answer.json["tasks"]) == (1, 0)
    assert "SignatureDoesNotMatch" in answer.err
    assert "secret" not in answer.err + answer.out
