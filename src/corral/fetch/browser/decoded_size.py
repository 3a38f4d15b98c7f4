"""Limit the decoded size of the bodies that Chromium loads: a small answer can hold a gigabyte."""

import itertools
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from playwright.async_api import CDPSession

from corral.domain.runs.outcome import Failed
from corral.fetch.browser.launch_args import BrowserLimits
from corral.fetch.faults import fault

# Chromium buffers bodies for network listeners; this listener needs none.
_KEEP_NO_BODIES = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0}
# Without flattening, messages of a child target arrive inside those of its parent: Playwright passes on only these.
_ATTACH = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False}
_NETWORK = ("Network.responseReceived", "Network.dataReceived", "Network.loadingFinished", "Network.loadingFailed")
_TARGET = ("Target.attachedToTarget", "Target.receivedMessageFromTarget")

Params = dict[str, Any]
Send = Callable[[str, Params], None]
Later = Callable[[Coroutine[Any, Any, Any]], None]


class BodyWeights:
    """Counts decoded bytes per request, and reports the first body or run that exceeds its limit.

    Events come from the target that loads the resource. Workers and cross-site frames are separate targets below the
    page, and each of them is watched like the page.
    """

    def __init__(self, limits: BrowserLimits, report: Callable[[Failed], None], later: Later) -> None:
        self._limits = limits
        self._report = report
        self._later = later
        self._ids = itertools.count(1)
        self._decoded: dict[str, int] = {}
        self._documents: set[str] = set()
        self.total_bytes = 0

    async def watch(self, session: CDPSession) -> None:
        def send(method: str, params: Params) -> None:
            self._later(session.send(method, params))

        for method in (*_NETWORK, *_TARGET):
            session.on(method, lambda params, method=method: self._receive(send, "", method, params))
        await session.send("Network.enable", _KEEP_NO_BODIES)
        send("Target.setAutoAttach", _ATTACH)

    def _receive(self, send: Send, path: str, method: str, params: Params) -> None:
        """Handle an event. `path` identifies the target: request ids of different targets may be equal."""
        request = f"{path}{params.get('requestId')}"
        if method == "Network.dataReceived":
            self._weigh(request, int(params.get("dataLength") or 0))
        elif method == "Network.responseReceived":
            if params.get("type") == "Document":
                self._documents.add(request)
        elif method in _NETWORK:
            self._decoded.pop(request, None)
            self._documents.discard(request)
        elif method in _TARGET:
            self._receive_from_child(send, path, method, params)

    def _receive_from_child(self, send: Send, path: str, method: str, params: Params) -> None:
        child = str(params.get("sessionId"))

        def send_to_child(method: str, params: Params) -> None:
            message = orjson.dumps({"id": next(self._ids), "method": method, "params": params}).decode()
            send("Target.sendMessageToTarget", {"sessionId": child, "message": message})

        if method == "Target.attachedToTarget":
            send_to_child("Network.enable", _KEEP_NO_BODIES)
            send_to_child("Target.setAutoAttach", _ATTACH)
            return
        message = orjson.loads(str(params.get("message") or "{}"))
        if "method" in message:
            self._receive(send_to_child, f"{path}{child}/", message["method"], message.get("params") or {})

    def _weigh(self, request: str, size: int) -> None:
        decoded = self._decoded[request] = self._decoded.get(request, 0) + size
        self.total_bytes += size
        limits = self._limits
        is_document = request in self._documents
        allowed = limits.max_content_bytes if is_document else limits.max_body_bytes
        if decoded > allowed:
            what = "the document" if is_document else "a resource of the page"
            self._refuse(f"{what} has more than {allowed} bytes once decoded")
        elif self.total_bytes > limits.max_decoded_bytes:
            self._refuse(f"the page loads more than {limits.max_decoded_bytes} bytes, decoded")

    def _refuse(self, why: str) -> None:
        self._report(fault("limit:body_too_large", why, decoded_bytes=self.total_bytes))
