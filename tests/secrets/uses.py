"""Every way of using the API in which a secret is handed over, to a good end and to a bad one."""

import signal
import time
from collections.abc import Callable
from typing import Any

import httpx
import psutil

from tests.secrets.confiding import ConfidingSite
from tests.secrets.planted import Planted
from tests.secrets.proxy import serve_proxy
from tests.stack import Stack
from tests.waiting import pauses


def _job(stack: Stack, path: str, site: ConfidingSite | None = None, **more: Any) -> dict[str, Any]:
    there = {"target_url": site.url + path} if site else {}
    return stack.job(path, **{"max_attempts": 1, **there, **more})


def logins(stack: Stack, canaries: Planted) -> None:
    """A run without a session, with a dead one, with a living one; checked and rotated between."""
    job = _job(stack, f"/account?token={canaries.in_url('token_in_url')}", requires_auth=True, strategy="auto")
    run = stack.start(job)
    stack.until(run["id"], "waiting_for_human")
    dead = {
        "job_id": job["id"],
        "cookies": [{"name": "demo_session", "value": canaries.secret("dead_cookie")}],
        "storage": {stack.site: {"token": canaries.secret("stored_value")}},
        "headers": {"Authorization": f"Bearer {canaries.secret('session_header')}"},
    }
    posted = stack.client.post("/jobs/sessions", json=dead, headers={"Idempotency-Key": "hunt"})
    posted.raise_for_status()
    stack.client.post(f"/jobs/sessions/{posted.json()['id']}/validate").raise_for_status()
    [waiting] = stack.client.get("/interventions?status=open").json()
    stack.client.post(f"/interventions/{waiting['id']}/resolve").raise_for_status()
    stack.until(run["id"], "waiting_for_human")
    alive = httpx.post(f"{stack.site}/login", data={"username": "demo", "password": "demo"})
    cookies = [
        {"name": "demo_session", "value": canaries.secret("live_cookie", alive.cookies["demo_session"])},
        {"name": "other", "value": canaries.secret("other_cookie"), "domain": ".example.test", "secure": True},
    ]
    [waiting] = stack.client.get("/interventions?status=open").json()
    resolved = stack.client.post(f"/interventions/{waiting['id']}/resolve", json={"session": {"cookies": cookies}})
    resolved.raise_for_status()
    assert stack.wait_for_end(run["id"])["status"] == "completed"


def addresses(stack: Stack, canaries: Planted) -> None:
    """Every way a fetch ends, with a secret in its address."""
    ends = {
        f"/articles?access_token={canaries.in_url('good_page')}": "completed",
        f"/missing?sig={canaries.in_url('missing_page')}": "failed",
        f"/redirect-loop?api_key={canaries.in_url('redirect_loop')}": "failed",
        f"/reset?session={canaries.in_url('reset')}": "failed",
        f"/blocked?auth={canaries.in_url('blocked_page')}": "failed",
        f"/large?bytes=99999999&X-Amz-Signature={canaries.in_url('large_page')}": "failed",
        f"/private/secret?token={canaries.in_url('robots')}": "failed",
    }
    runs = [(stack.start(_job(stack, path)), status) for path, status in ends.items()]
    by_browser = _job(stack, f"/gone?secret={canaries.in_url('gone_in_browser')}", strategy="browser")
    runs.append((stack.start(by_browser), "failed"))
    slow = _job(stack, f"/slow?seconds=5&password={canaries.in_url('slow_page')}", timeout_s=2)
    runs.append((stack.start(slow), "failed"))
    for run, status in runs:
        ended = stack.wait_for_end(run["id"])
        assert ended["status"] == status, ended


def use_confiding_site(stack: Stack, site: ConfidingSite, canaries: Planted) -> None:
    """What a target sets, asks for and puts into addresses by itself, over HTTP and in a browser."""
    refused = {"target_url": f"{site.url}/to-userinfo", "fields": ["title"]}
    assert stack.client.post("/jobs", json=refused).status_code == 422
    ends = {"/landing": "completed", "/to-landing": "completed", "/to-fragment": "completed"}
    ends |= {"/to-missing": "failed", "/to-loop": "failed"}
    runs = [
        (stack.start(_job(stack, path, site, strategy=strategy)), status)
        for path, status in ends.items()
        for strategy in ("http", "browser")
    ]
    runs.append((stack.start(_job(stack, "/app", site, strategy="browser", fields=["name"])), "completed"))
    runs.append((stack.start(_job(stack, "/landing", site)), "completed"))  # once more, from the cache
    for run, status in runs:
        ended = stack.wait_for_end(run["id"], within_s=60)
        assert ended["status"] == status, ended


def make_target_repeat(stack: Stack, site: ConfidingSite, canaries: Planted) -> None:
    """An error page with all that was sent to it, and with what it set; the browser keeps it as evidence."""
    job = _job(stack, f"/error?token={canaries.in_url('repeated_token')}", site, requires_auth=True)
    session = {
        "job_id": job["id"],
        "cookies": [{"name": "known_by", "value": canaries.secret("repeated_cookie")}],
        "headers": {"Authorization": f"Bearer {canaries.secret('repeated_header')}"},
        "storage": {site.url: {"token": canaries.secret("repeated_storage")}},
    }
    stack.client.post("/jobs/sessions", json=session).raise_for_status()
    run = stack.wait_for_end(stack.start(job)["id"])
    assert (run["status"], run["resolved_strategy"]) == ("failed", "browser")
    assert "repeated_cookie" in canaries.find_in("\n".join(site.asked))
    plain = _job(stack, f"/error?token={canaries.in_url('repeated_over_http')}", site)
    assert stack.wait_for_end(stack.start(plain)["id"])["status"] == "failed"


def plant_for_sure(stack: Stack, site: ConfidingSite, sure: Planted) -> None:
    """No secret by its name, where all of the above stands."""
    job = _job(stack, f"/error?note={sure.secret('in_address')}", site, strategy="browser")
    assert stack.wait_for_end(stack.start(job)["id"])["status"] == "failed"


def proxies(stack: Stack, canaries: Planted) -> None:
    """A proxy that cannot be used (the site is none), by each way of fetching; set, changed, cloned, tried again."""
    site = stack.site.removeprefix("http://")
    for strategy in ("http", "browser"):
        known_by = f"{canaries.secret(f'proxy_user_{strategy}')}:{canaries.secret(f'proxy_password_{strategy}')}"
        job = _job(stack, "/articles", strategy=strategy, proxy_policy=f"http://{known_by}@{site}")
        run = stack.wait_for_end(stack.start(job)["id"])
        assert (run["failure_code"], run["failure_detail"]) == ("network", "proxy")
        stack.wait_for_end(stack.client.post(f"/jobs/runs/{run['id']}/retry").json()["id"])
        stack.client.post(f"/jobs/{job['id']}/clone").raise_for_status()
        changed = f"socks5://user:{canaries.secret(f'changed_proxy_{strategy}')}@{site}"
        stack.client.patch(f"/jobs/{job['id']}", json={"proxy_policy": changed}).raise_for_status()
    user, password = canaries.secret("good_proxy_user"), canaries.secret("good_proxy_password")
    with serve_proxy(user, password) as proxy:
        for strategy in ("http", "browser"):
            address = f"http://{user}:{password}@127.0.0.1:{proxy.port}"
            job = _job(stack, "/articles", strategy=strategy, proxy_policy=address)
            assert stack.wait_for_end(stack.start(job)["id"])["status"] == "completed"
        assert proxy.asked
    refused = f"ftp://user:{canaries.secret('refused_proxy')}@{site}"
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"], "proxy_policy": refused}
    assert stack.client.post("/jobs", json=body).status_code == 422


def refusals(stack: Stack, canaries: Planted) -> None:
    """What the API refuses it does not repeat."""
    job = _job(stack, "/articles")
    bad_cookie = {"name": "a", "value": canaries.secret("refused_cookie") + "\n"}
    for body in (
        {"job_id": job["id"], "cookies": [bad_cookie]},
        {"job_id": job["id"], "cookies": [{"name": "a", "value": [canaries.secret("mistyped_cookie")]}]},
        {"job_id": job["id"], "headers": {"Cookie": canaries.secret("refused_header")}},
    ):
        assert stack.client.post("/jobs/sessions", json=body).status_code == 422
    target = stack.site.replace("//", f"//user:{canaries.secret('userinfo')}@")
    assert stack.client.post("/jobs", json={"target_url": target, "fields": ["title"]}).status_code == 422
    bearer = {"Authorization": f"Bearer {canaries.secret('wrong_token')}"}
    assert stack.client.get("/jobs", headers=bearer).status_code == 401
    basic = {"Authorization": f"Basic {canaries.secret('basic_auth')}", "Cookie": f"a={canaries.secret('api_cookie')}"}
    assert stack.client.get("/jobs", headers=basic).status_code == 401
    _send_malformed(stack, canaries)
    assert stack.client.get(f"/jobs?cursor={canaries.secret('bad_cursor')}").status_code == 422


def _send_malformed(stack: Stack, canaries: Planted) -> None:
    page = {"target_url": f"{stack.site}/articles", "fields": ["title"]}
    for body in (
        {**page, "password": canaries.secret("unknown_property")},
        {**page, "crawl_mode": "list", "list_config": {"token": canaries.secret("list_config")}},
        {**page, "priority": canaries.secret("mistyped_choice")},
        {**page, "proxy_policy": {"password": canaries.secret("mistyped_proxy")}},
    ):
        assert stack.client.post("/jobs", json=body).status_code == 422
    broken = f'{{"target_url": "http://a.example", "password": "{canaries.secret("broken_body")}"'
    as_json = {"Content-Type": "application/json"}
    assert stack.client.post("/jobs", content=broken, headers=as_json).status_code == 422
    form = {"password": canaries.secret("form_body")}
    assert stack.client.post("/jobs", data=form).status_code == 415
    assert stack.client.get(f"/jobs/runs?access_token={canaries.secret('token_for_the_api')}").status_code in (200, 422)


def recipes(stack: Stack, canaries: Planted) -> None:
    """A recipe is learnt in a browser, then written by hand: with what may not be in it, and with what may."""
    taught = _job(stack, "/shop/1", strategy="browser", fields=["name", "price"])
    assert stack.wait_for_end(stack.start(taught)["id"])["status"] == "completed"
    [recipe] = [each for each in stack.client.get("/jobs/recipes").json() if each["url_pattern"].startswith("/shop")]
    document = recipe["document"]
    call = document["calls"][0]
    for changed in (
        {"headers": {"authorization": f"Bearer {canaries.secret('header_in_recipe')}"}},
        {"headers": {"accept": canaries.secret("control_in_recipe") + "\x01"}},
        {"url": f"http://user:{canaries.secret('userinfo_in_recipe')}@127.0.0.1/api/products/1"},
        {"secret": canaries.secret("unknown_in_recipe")},
    ):
        written = {**document, "calls": [{**call, **changed}]}
        answer = stack.client.put(f"/jobs/recipes/{recipe['id']}", json={"document": written})
        assert answer.status_code == 422, changed
    missing = call["url"].replace("/api/products/", "/api/nothing/") + f"?api_key={canaries.in_url('key_in_recipe')}"
    written = {**document, "calls": [{**call, "url": missing}]}
    stack.client.put(f"/jobs/recipes/{recipe['id']}", json={"document": written}).raise_for_status()
    replayed = _job(stack, "/shop/2", strategy="api_replay", fields=["name", "price"])
    stack.wait_for_end(stack.start(replayed)["id"])


def previews(stack: Stack, canaries: Planted) -> None:
    """Looked at once, told to whoever asked, and nothing of it stays."""
    good = f"{stack.site}/articles?token={canaries.once('previewed')}"
    bad = f"{stack.site}/missing?token={canaries.once('preview_failed')}"
    stack.client.post("/jobs/preview", json={"url": good}).raise_for_status()
    stack.client.post("/jobs/preview", json={"url": good, "prefer_browser": True}).raise_for_status()
    assert stack.client.post("/jobs/preview", json={"url": bad}).status_code < 500
    userinfo = stack.site.replace("//", f"//user:{canaries.secret('userinfo_in_preview')}@")
    assert stack.client.post("/jobs/preview", json={"url": userinfo}).status_code == 422
    spec = {"url": good, "selector_spec": {"name": "title", "css": f"[[{canaries.once('bad_selector')}"}}
    assert stack.client.post("/jobs/validate-selector", json=spec).status_code < 500


def kill_worker(stack: Stack, site: ConfidingSite, canaries: Planted) -> None:
    """kill -9 while secrets are in use: in a browser, over HTTP, and on the way through a proxy."""
    job = _job(stack, f"/hangs?token={canaries.in_url('killed_in_browser')}", site, requires_auth=True, timeout_s=3)
    session = {
        "job_id": job["id"],
        "cookies": [{"name": "a", "value": canaries.secret("killed_cookie")}],
        "storage": {site.url: {"token": canaries.secret("killed_storage")}},
    }
    stack.client.post("/jobs/sessions", json=session).raise_for_status()
    proxy = f"http://user:{canaries.secret('killed_proxy')}@127.0.0.1:{site.port}"
    runs = [
        stack.start(job),
        stack.start(_job(stack, f"/slow?seconds=2&token={canaries.in_url('killed_over_http')}", timeout_s=10)),
        stack.start(_job(stack, "/slow?seconds=1", strategy="browser", proxy_policy=proxy)),
    ]
    _until(lambda: "killed_cookie" in canaries.find_in("\n".join(site.asked)))
    _until(lambda: stack.run(runs[1]["id"])["status"] in ("running", "failed", "completed"))
    workers = [
        each
        for each in psutil.Process(stack.process.pid).children()
        if "corral.entrypoints.worker_process" in each.cmdline()
    ]
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    for run in runs:
        stack.wait_for_end(run["id"], within_s=60)


def _until(is_so: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    looks = pauses()
    while not is_so():
        assert time.monotonic() < deadline, f"not so within {within_s} s"
        time.sleep(next(looks))
