"""A shop drawn by JavaScript whose API changes under it, and misbehaves on request."""

import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

_SHELL = """<!doctype html><html><head><title>Shop</title></head><body><div id="root"></div>
<noscript>You need to enable JavaScript to run this app.</noscript><script>
const id = location.pathname.split("/")[2], old = %s;
const asked = old ? fetch(`/api/items/${id}`)
  : fetch("/api/v2/query", {method: "POST", headers: {"Content-Type": "application/json", "X-Requested-With": "shop"},
                            body: JSON.stringify({what: "item", variables: {id: Number(id)}})});
asked.then((answer) => answer.json()).then((found) => {
  const item = old ? found : found.data.item;
  const price = old ? item.price.amount.toFixed(2) : item.cost.toFixed(2);
  document.getElementById("root").innerHTML = `<h1 class="name"></h1><p class="price">€ ${price}</p>`;
  document.querySelector(".name").textContent = old ? item.name : item.title;
});
</script></body></html>"""

# A page whose call carries a token that the page was sent with, and that is good for one call.
_ONCE = """<!doctype html><html><head><title>Shop</title></head><body><div id="root"></div>
<noscript>You need to enable JavaScript to run this app.</noscript><script>
const id = location.pathname.split("/")[2];
fetch(`%s`).then((answer) => answer.json()).then((item) => {
  document.getElementById("root").innerHTML = `<h1 class="name"></h1><p class="price">€ ${item.price.toFixed(2)}</p>`;
  document.querySelector(".name").textContent = item.name;
});
</script></body></html>"""
ONCE_IN = {"query": "/api/once/${id}?t=%s", "path": "/api/once/%s/${id}"}


@dataclass
class Changing:
    host: str = "127.0.0.1"
    port: int = 0
    is_old: bool = True
    robots: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    token_in: str = "query"
    token_status: int = 403

    def url(self, path: str) -> str:
        return f"http://{self.host}:{self.port}{path}"

    def record(self, number: int) -> dict[str, Any]:
        return {"name": f"Item number {number}", "price": f"€ {number * 1.5:.2f}"}

    def calls(self) -> list[tuple[str, str]]:
        return [call for call in self.asked if call[1].startswith("/api")]

    async def shell(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path))
        return HTMLResponse(_SHELL % ("true" if self.is_old else "false"))

    async def item(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path))
        number = request.path_params["number"]
        if not self.is_old:
            return JSONResponse({"message": "gone"}, 404)
        return JSONResponse({"id": number, "name": f"Item number {number}", "price": {"amount": number * 1.5}})

    async def query(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path))
        body = await request.json()
        number = body["variables"]["id"]
        if self.is_old or request.headers.get("x-requested-with") != "shop" or not isinstance(number, int):
            return JSONResponse({"message": "bad request"}, 400)
        return JSONResponse({"data": {"item": {"title": f"Item number {number}", "cost": number * 1.5}}})

    async def once_shell(self, request: Request) -> Response:
        token = secrets.token_hex(8)
        self.tokens.add(token)
        return HTMLResponse(_ONCE % (ONCE_IN[self.token_in] % token))

    async def once(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path))
        number = request.path_params["number"]
        token = request.path_params.get("token") or request.query_params.get("t", "")
        if token not in self.tokens:
            return JSONResponse({"message": "used"}, self.token_status)
        self.tokens.discard(token)
        return JSONResponse({"name": f"Item number {number}", "price": number * 1.5})

    async def status(self, request: Request) -> Response:
        self.asked.append((request.method, request.url.path))
        return JSONResponse({"name": "an error"}, request.path_params["number"], {"retry-after": "7"})

    async def send_redirect(self, request: Request) -> Response:
        return RedirectResponse("/api/echo", request.path_params["number"])

    async def echo(self, request: Request) -> Response:
        body = (await request.body()).decode()
        return JSONResponse({"name": f"{request.method} {body}".strip(), "type": request.headers.get("content-type")})

    async def page(self, _: Request) -> Response:
        return HTMLResponse("<title>Not what you think</title>")

    async def robots_txt(self, _: Request) -> Response:
        return PlainTextResponse(self.robots)

    def app(self) -> Starlette:
        routes = [
            Route("/shop/{number:int}", self.shell),
            Route("/once/{number:int}", self.once_shell),
            Route("/api/once/{number:int}", self.once),
            Route("/api/once/{token}/{number:int}", self.once),
            Route("/api/items/{number:int}", self.item),
            Route("/api/v2/query", self.query, methods=["POST"]),
            Route("/api/status/{number:int}", self.status),
            Route("/api/redirect/{number:int}", self.send_redirect, methods=["GET", "POST"]),
            Route("/api/echo", self.echo, methods=["GET", "POST"]),
            Route("/api/page", self.page),
            Route("/robots.txt", self.robots_txt),
        ]
        return Starlette(routes=routes)


@contextmanager
def changing_site(host: str = "127.0.0.1") -> Iterator[Changing]:
    site = Changing(host)
    listener = socket.create_server((host, 0))
    site.port = listener.getsockname()[1]
    config = uvicorn.Config(site.app(), loop="asyncio", ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield site
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
