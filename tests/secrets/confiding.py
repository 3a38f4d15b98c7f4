"""A site that cannot keep a secret: it sets them, asks for them, puts them into addresses and repeats them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.secrets.planted import Planted

APP = """<title>Loading</title><h1 id=name></h1><script type=module>
document.cookie = "by_script=%(cookie_by_script)s; path=/";
localStorage.setItem("token", "%(local_storage)s");
sessionStorage.setItem("token", "%(session_storage)s");
const headers = {"Authorization": "Bearer %(bearer_of_page)s", "X-Api-Key": "%(key_header)s",
  "Content-Type": "application/json"};
const body = JSON.stringify({username: "demo", password: "%(form_value)s"});
await fetch("/api/login", {method: "POST", headers, body});
const item = await (await fetch("/api/item?api_key=%(key_of_page)s", {headers})).json();
document.getElementById("name").textContent = document.title = item.name;
</script>"""
OF_THE_APP = (
    "cookie_by_script",
    "local_storage",
    "session_storage",
    "bearer_of_page",
    "key_header",
    "form_value",
    "key_of_page",
)


class ConfidingSite:
    def __init__(self, planted: Planted) -> None:
        self.planted = planted
        self.port = 0
        self.asked: list[str] = []  # with the headers: what was sent can be told from what was not
        self.app = APP % {kind: planted.secret(kind) for kind in OF_THE_APP}
        self.places = {
            "/to-landing": f"/landing?access_token={planted.secret('token_in_redirect')}",
            "/to-missing": f"/missing?signature={planted.secret('signature_in_redirect')}",
            "/to-fragment": f"/landing#id_token={planted.secret('token_in_fragment')}",
            "/to-userinfo": f"http://user:{planted.secret('password_in_redirect')}@127.0.0.1:PORT/landing",
            "/to-loop": f"/to-loop?token={planted.secret('token_in_loop')}",
        }
        self.cookie = planted.secret("cookie_of_target")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(f"{request.path}\n{request.headers}")
        length = int(request.headers.get("Content-Length") or 0)
        self.asked.append(request.rfile.read(length).decode("utf-8", "replace"))
        if path in self.places:
            self._say(request, 302, "", Location=self.places[path].replace("PORT", str(self.port)))
        elif path.startswith("/api/"):
            self._say(request, 200, json.dumps({"name": "Kettle"}), "application/json")
        elif path == "/app":
            self._say(request, 200, self.app)
        elif path == "/error":
            told = f"<p>{request.path}<p>{request.headers}<p>Set-Cookie: kept={self.cookie}"
            self._say(request, 403, f"<title>Error</title>{told}", **{"Set-Cookie": f"kept={self.cookie}; Path=/"})
        elif path == "/missing":
            self._say(request, 404, "<title>Missing</title>")
        elif path == "/hangs" and "Cookie" in request.headers:
            request.rfile.read(1)  # until whoever asked has gone
        else:
            self._say(request, 200, "<title>Landing</title>", **{"Set-Cookie": f"kept={self.cookie}; Path=/"})

    @staticmethod
    def _say(request: BaseHTTPRequestHandler, status: int, body: str, kind: str = "text/html", **headers: str) -> None:
        request.close_connection = True
        request.send_response(status)
        fixed = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body.encode()))}
        for name, value in {**fixed, "Cache-Control": "max-age=3600", **headers}.items():
            request.send_header(name, value)
        with suppress(ConnectionError):  # whoever has seen the head may have gone
            request.end_headers()
            request.wfile.write(body.encode())


@contextmanager
def confiding_site(planted: Planted) -> Iterator[ConfidingSite]:
    site = ConfidingSite(planted)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        do_POST = do_GET  # noqa: N815 - the names are those of the standard library

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
