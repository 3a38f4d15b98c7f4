"""A login by form is kept only if it worked, however the site says that it did not."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.secret import Secret
from corral.fetch.browser.login import LoginFailed, login_page
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from tests.chaos.level import LEVEL
from tests.fetch.browsing import needs_chromium

pytestmark = pytest.mark.browser
FORM = "<form method=post><input name=user><input name=password type=password><button type=submit>Go</button></form>"
USER_ONLY = "<form method=post><input name=user><input name=password type=text><button type=submit>Go</button></form>"
BY_SCRIPT = """<div id=app><input name=user><input name=password type=password><button type=submit>Go</button></div>
<script>document.querySelector('button').onclick = async () => {
  const user = document.querySelector('[name=password]').value;
  const answer = await fetch(location.href, {method: 'POST', body: 'password=' + user});
  document.querySelector('#app').textContent = answer.ok ? 'Welcome' : 'Try again later';
}</script>"""


async def form(request: Request) -> Response:
    style = request.path_params["style"]
    if request.method == "GET":
        page = {"script": BY_SCRIPT, "plain field": USER_ONLY}.get(style, FORM)
        answer: Response = HTMLResponse(f"<title>Sign in</title>{page}")
        answer.set_cookie("visitor", "anonymous")  # there before anybody has logged in
        return answer
    is_right = parse_qs((await request.body()).decode()).get("password") == ["right"]
    if style == "slow":
        await asyncio.sleep(1.5)
    if is_right:
        answer = JSONResponse({}) if style == "script" else RedirectResponse("/private", 303)
        answer.set_cookie("session", "good")
        return answer
    if style == "script":
        return JSONResponse({}, 401)
    if style == "says so":
        return HTMLResponse("<title>Sorry</title><p>Wrong password.")
    if style == "status":
        return HTMLResponse("<title>No</title><p>No.", 403)
    return RedirectResponse(f"/login/{style}?error=1", 303)


async def private(request: Request) -> Response:
    if request.cookies.get("session") != "good":
        return RedirectResponse("/login/back", 302)
    return HTMLResponse("<title>Private</title><h1>Welcome</h1>")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/login/{style}", form, methods=["GET", "POST"]), Route("/private", private)])
    server = uvicorn.Server(uvicorn.Config(app, loop="asyncio", ws="none", lifespan="off", log_config=None))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join()
    listener.close()


async def capture(port: int, style: str, password: str) -> list[str]:
    needs_chromium()
    egress = Egress(EgressPolicy((AllowEntry.parse(f"127.0.0.1/32:{port}"),)), FetchLimits(), "corral-test")
    try:
        async with login_page(egress, frozenset(), "corral-test", headed=False) as page:
            await page.open(f"http://127.0.0.1:{port}/login/{style}")
            await page.fill("user", Secret("me"))
            await page.fill("password", Secret(password))
            await page.submit(None)
            state = await page.state()
            await page.check_target(f"http://127.0.0.1:{port}/private")
            return [cookie["name"] for cookie in state["cookies"]]
    finally:
        await egress.close()


# Each costs two browsers; the others differ in what is asked of them only.
STYLES = ["back", "says so", "script", *(["status", "plain field", "slow"] if LEVEL else [])]


@pytest.mark.parametrize("style", STYLES)
async def test_a_wrong_password_is_noticed_and_a_right_one_works(port: int, style: str) -> None:
    with pytest.raises(LoginFailed, match=r"password|login"):
        await capture(port, style, "wrong")
    assert "session" in await capture(port, style, "right")
