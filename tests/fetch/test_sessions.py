"""A session reaches the target it is for, and nobody else; what a run says of itself does not hold it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from corral.demo.pages import login_page
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.domain.secret import Secret
from corral.domain.sites.session import SealedSession, SessionState, parse_session
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.robots import Robots
from corral.fetch.sessions import SessionKeys, WithSession, browser_state
from corral.secrets.vault import Keyring
from tests.fetch.browsing import open_browser
from tests.fetch.hostile import ROUTES, Hostile, Request, hostile_server, redirect_to

RING = Keyring().with_new()
KEYS = SessionKeys(RING.texts())
CANARY = "canary-cookie-value"


def a_session(url: str, **cookie: object) -> SealedSession:
    cell = {"name": "sid", "value": CANARY, **cookie}
    state = parse_session(url, [cell], {url: {"stored": "canary-stored-value"}}, {"X-Api-Token": "canary-header"})
    return RING.seal(state, job_id="job", session_id="session", version=1)


def a_task(url: str, session: SealedSession | None, strategy: str = "http") -> Task:
    payload = {"url": url, "fields": [{"name": "title"}], "respect_robots": False, "requires_auth": True}
    return Task("run", 1, "page", strategy, 1, Payload(payload), 15.0, session)


@pytest.fixture
def executor(egress: Egress) -> WithSession:
    return WithSession(HttpExecutor(egress, Robots(egress, "corral-test")), KEYS)


@pytest.fixture
async def elsewhere() -> AsyncIterator[Hostile]:
    async with hostile_server() as server:
        yield server


async def test_cookies_and_headers_go_to_the_target(executor: WithSession, hostile: Hostile) -> None:
    outcome = await executor.execute(a_task(hostile.url("/page"), a_session(hostile.url())))
    assert isinstance(outcome, Fetched)
    [head] = hostile.heads
    assert f"sid={CANARY}" in head
    assert "canary-header" in head


async def test_another_host_and_another_origin_get_nothing_they_should_not(
    executor: WithSession, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same machine under another name is another host; on the way back the cookie is sent again."""
    other = hostile.url("/back", host="localhost").encode()
    monkeypatch.setitem(ROUTES, "/away", redirect_to(other))
    monkeypatch.setitem(ROUTES, "/back", redirect_to(hostile.url("/page").encode()))
    outcome = await executor.execute(a_task(hostile.url("/away"), a_session(hostile.url())))
    assert isinstance(outcome, Fetched)
    away, back, page = hostile.heads
    assert CANARY in away
    assert "canary" not in back
    assert CANARY in page
    assert "canary-header" in page


@pytest.mark.parametrize("detail", ["blocked", "wall"])
async def test_a_page_that_asks_for_a_login_means_the_session_is_dead(
    executor: WithSession, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, detail: str
) -> None:
    async def route(request: Request) -> None:
        form = login_page(heading="Sign in to continue")
        await request.answer(
            form.encode(), "Content-Type: text/html", status="401 No" if detail == "blocked" else "200 OK"
        )

    monkeypatch.setitem(ROUTES, "/private", route)
    outcome = await executor.execute(a_task(hostile.url("/private"), a_session(hostile.url())))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == (FailureCode.BLOCKED, "session_expired")


async def test_without_a_session_nothing_is_asked(executor: WithSession, hostile: Hostile) -> None:
    outcome = await executor.execute(a_task(hostile.url("/page"), None))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == (FailureCode.BLOCKED, "no_session")
    assert hostile.connections == 0


async def test_a_session_that_has_expired_is_dead_and_nobody_is_asked(executor: WithSession, hostile: Hostile) -> None:
    state = parse_session(hostile.url(), [{"name": "sid", "value": CANARY, "expires": 1_000_000_000}])
    sealed = RING.seal(state, job_id="job", session_id="session", version=1)
    outcome = await executor.execute(a_task(hostile.url("/page"), sealed))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail, hostile.connections) == (FailureCode.BLOCKED, "session_expired", 0)
    assert "expired" in outcome.message
    with_storage = a_session(hostile.url(), expires=1_000_000_000)
    assert isinstance(await executor.execute(a_task(hostile.url("/page"), with_storage)), Fetched)


@pytest.mark.parametrize("change", [{"version": 2}, {"job_id": "other"}, {"kid": "0" * 16}, {"box": "AAAA"}])
async def test_a_session_that_is_not_what_was_sealed_is_not_used(
    executor: WithSession, hostile: Hostile, change: dict[str, object]
) -> None:
    broken = replace(a_session(hostile.url()), **change)  # type: ignore[arg-type]
    outcome = await executor.execute(a_task(hostile.url("/page"), broken))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == (FailureCode.POLICY, "auth_state_invalid")
    assert hostile.connections == 0


async def test_an_outcome_holds_no_value_of_the_session() -> None:
    class Echo:
        async def execute(self, task: Task) -> Outcome:
            assert isinstance(task.session, SessionState)
            text = f"it said {task.session.cookies[0].value.reveal()}"
            return Failed(FailureCode.UNKNOWN, text, "bug", stats={"title": [text]}, traceback=text)

    outcome = await WithSession(Echo(), KEYS).execute(a_task("http://a.test/", a_session("http://a.test")))
    assert CANARY not in repr(outcome)
    assert isinstance(outcome, Failed)
    assert outcome.message == "it said ***"


def test_the_browser_is_given_cookies_and_storage_but_no_headers() -> None:
    state = RING.open(a_session("https://a.test", sameSite="None", expires=4_000_000_000))
    given = browser_state(replace(a_task("https://a.test/", None), session=state))
    assert given is not None
    [cookie] = given["cookies"]
    assert (cookie["name"], cookie["value"], cookie["domain"], cookie["expires"]) == ("sid", CANARY, "a.test", 4e9)
    assert given["origins"][0]["localStorage"] == [{"name": "stored", "value": "canary-stored-value"}]
    assert "canary-header" not in str(given)
    assert browser_state(a_task("https://a.test/", None)) is None


@pytest.mark.browser
async def test_the_browser_is_logged_in_where_the_session_is_from(
    hostile: Hostile, elsewhere: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "document.title = localStorage.getItem('stored') ? 'stored' : 'nothing'"
    beacon = f"fetch('{elsewhere.url('/beacon', host='localhost')}', {{mode: 'no-cors', credentials: 'include'}})"

    async def route(request: Request) -> None:
        html = f"<title>x</title><p>text</p><script>{script};{beacon}</script>"
        await request.answer(html.encode(), "Content-Type: text/html")

    monkeypatch.setitem(ROUTES, "/private", route)
    async with open_browser(hostile.port, elsewhere.port) as browser:
        task = a_task(hostile.url("/private"), a_session(hostile.url()), "browser")
        outcome = await WithSession(browser, KEYS).execute(task)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records[0]["title"] == "stored"
    assert any(f"sid={CANARY}" in head for head in hostile.heads)
    assert elsewhere.heads
    assert not any("canary" in head for head in elsewhere.heads)


def test_a_key_told_later_opens_what_it_sealed() -> None:
    ring = RING.with_new()
    state = SessionState(headers={"x": Secret("y")})
    sealed = ring.seal(state, job_id="j", session_id="s", version=1)
    keys = SessionKeys(RING.texts())
    keys.replace(ring.texts())
    assert keys.open(sealed) == state
