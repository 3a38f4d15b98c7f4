"""The echo page, with which a check sees what a proxy does: it contains the caller's address and headers.

Corral's own page is HTML, because proxies insert text into HTML. The page can be rebuilt from its data byte by byte, so
that any change is detected.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape, unescape
from typing import Any

ECHO_PATH = "/proxies/echo"
_TITLE = "Corral echo"
_DATA = re.compile(r'<pre id="echo">(.*?)</pre>', re.DOTALL)
_MAX_HEADERS = 100
# The keys under which well-known services return the address of the caller.
_ADDRESS_KEYS = ("address", "origin", "ip", "ip_address", "query", "client_ip", "remote_addr")


@dataclass(frozen=True, slots=True)
class Echo:
    address: str | None
    headers: dict[str, str] = field(default_factory=dict)


def build_echo_page(address: str, headers: Mapping[str, str], nonce: str) -> bytes:
    first = dict(list(headers.items())[:_MAX_HEADERS])
    data = json.dumps({"address": address, "headers": first, "nonce": nonce}, sort_keys=True)
    return (
        f"<!doctype html>\n<html><head><title>{_TITLE}</title></head>\n"
        f'<body><h1>{_TITLE}</h1>\n<pre id="echo">{escape(data)}</pre>\n</body></html>\n'
    ).encode()


def read_echo(body: bytes, nonce: str) -> Echo | None:
    """Return the content of the page; None if it is not the page that the server sent."""
    text = body.decode("utf-8", "replace")
    if _TITLE in text:
        return _read_own(body, text, nonce)
    try:
        document = json.loads(text)
    except ValueError:
        return None
    return _read_foreign(document) if isinstance(document, dict) else None


def _read_own(body: bytes, text: str, nonce: str) -> Echo | None:
    match = _DATA.search(text)
    if match is None:
        return None
    try:
        document = json.loads(unescape(match[1]))
        address, headers, sent = str(document["address"]), dict(document["headers"]), document["nonce"]
    except (ValueError, KeyError, TypeError):
        return None
    is_whole = sent == nonce and build_echo_page(address, headers, nonce) == body
    return Echo(address, headers) if is_whole else None


def _read_foreign(document: dict[str, Any]) -> Echo | None:
    address = next((document[key] for key in _ADDRESS_KEYS if isinstance(document.get(key), str)), None)
    if address is None:
        return None
    echoed = document.get("headers")
    headers = {str(name): str(value) for name, value in echoed.items()} if isinstance(echoed, dict) else {}
    return Echo(address.split(",")[0].strip(), headers)
