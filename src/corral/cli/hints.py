"""Hints for runs that failed: what the user can do about it, if anything."""

from corral.domain.crawl.crawl import StoppedBy
from corral.domain.jobs.job import Strategy
from corral.domain.runs.outcome import FailureCode
from corral.domain.runs.run import CRAWL, SCRIPT, Run
from corral.domain.verdicts.run_verdict import is_withheld

_BY_DETAIL = {
    "no_session": "log in once with `corral session capture JOB`, or pass cookies with `corral session add JOB`",
    "session_expired": "log in again (`corral session capture JOB` or `corral session add JOB`), then resume the run",
    "auth_state_invalid": "the stored session was altered, or its key is gone; remove it and add it again",
    "robots": "robots.txt of the site disallows this page; `corral job add --no-robots` ignores it",
    "egress": "the page leads to a private address; APP_EGRESS_ALLOW lists those that may be reached",
    "tls": "its certificate is not trusted; `corral job add --no-verify-tls` accepts any certificate",
    "proxy": "check the proxy of the job, its user and password; the page is never fetched without it",
    "no_proxy": "fill the pool with `corral proxy refresh`; `corral proxy list` shows why proxies are out",
    "proxy_sealed": "the key that sealed its user and password is gone; set the proxy of the job again",
    "body_too_large": "raise APP_MAX_BODY_BYTES",
    "login_wall": "the page asks for a login: `corral job add URL --requires-auth`, then `corral session capture JOB`",
    "captcha": "a person can solve it: `corral job add URL --on-captcha wait`, or with cookies of a browser that did",
    "soft_404": "open the address in a browser: the page says that it does not exist",
    "dns": "check the spelling of the host, and the name server of this machine",
    "refused": "check the port of the address, and whether the server runs",
    "value_chars": "raise APP_MAX_VALUE_CHARS",
    "selector": "write a simpler selector or pattern for the field that the message names",
    "browser_launch": "see the browser check of `corral doctor`, or use --strategy http",
    # Limits of their own, which a longer --timeout does not raise.
    "connect": "a connection must be established within 5 s, regardless of --timeout; check the target, or try later",
    "first_byte": "give it more time with --timeout",
    "read": "no pause within a response may exceed 10 s, regardless of --timeout; try later",
    "parser": "correct the code; `corral record URL --parse FILE` stores the page, `corral test` runs the code on it",
    "script_content": "`corral doctor` shows what the browser lacks; --strategy http reads the page without scripts",
    "strategy_unavailable": "choose another strategy with --strategy",
}
_NO_TLS = "wrong version number"  # message of OpenSSL for an answer that is not TLS
_SCRIPT = {
    "exit": "see what it printed: `corral run show RUN` names the artifacts with its whole output",
    "script": "give it more time with --timeout, or `timeout` in its configuration",
    "memory": "give it more memory with --memory, or `limits.memory_mib` in its configuration",
    "processes": "allow more processes with --processes, or `limits.processes` in its configuration",
    "output": "let it print less, or raise `limits.output_mib` in its configuration",
    "records": "see the lines of its output that begin with { and are not JSON; --records none ignores them",
    "left_processes": "let the script wait for the processes it starts; none outlives it",
    "protocol": "see the result protocol in the documentation of scripts",
}
_BY_CODE = {
    FailureCode.BLOCKED: "the site refuses this client; try --strategy browser, or later",
    FailureCode.RATE_LIMITED: "the site wants fewer requests; try again later, or with a higher --max-attempts",
    FailureCode.TIMEOUT: "give it more time with --timeout",
    FailureCode.NETWORK: "check the address and this machine's connection",
}
# HTTP statuses of pages that the site has removed.
_GONE = (404, 410)


_CRAWL = {
    "tls": "its certificate is not trusted; --no-verify-tls accepts any certificate",
    "refused": "nothing listens at this address; check its host and port",
    "dns": "the host does not exist, or no name server answers; check its spelling",
    "robots": "robots.txt of the site disallows this page; --no-robots ignores it",
    "robots_unreachable": "try again when the site works; --no-robots ignores robots.txt",
    "proxy": "check the proxy, its user and password; no page is fetched without it",
    "out_of_scope": "start from the URL it redirects to, or add its domain with --allow-domain",
    "noindex": "the page asks not to be listed; --ignore-noindex collects it anyway",
}
_CRAWL_BY_CODE: dict[str, str] = {
    FailureCode.BLOCKED: "the site refuses this client; try again later, and slower, with --concurrency 1",
    FailureCode.RATE_LIMITED: "the site wants fewer requests; `corral site pace` sets the rate",
}


def _crawl_hint(run: Run) -> str | None:
    """Return the hint for a crawl, which has its own options."""
    if run.stats.get("stopped_by") == StoppedBy.TIME:
        return "give it more time with --max-time"
    return _CRAWL.get(run.failure_detail or "") or _CRAWL_BY_CODE.get(run.failure_code or "")


def hint_for(run: Run) -> str | None:
    """Return what the user can do, or None."""
    if is_withheld(run.stats):
        return f"compare with `corral run show {run.id}`; `corral run accept {run.id}` accepts data that is right"
    if run.kind == SCRIPT:
        return _SCRIPT.get(run.failure_detail or "")
    if run.failure_detail == "tls" and _NO_TLS in (run.error_message or ""):
        return "the server does not speak TLS on this port; write http:// instead of https://"
    hint = _crawl_hint(run) if run.kind == CRAWL else None
    hint = hint or _BY_DETAIL.get(run.failure_detail or "")
    if hint is None and run.failure_code in frozenset(FailureCode):
        hint = _code_hint(run, FailureCode(run.failure_code))
    return hint


def history_of(run: Run) -> str:
    return f"history: corral events {run.id}"


def _code_hint(run: Run, code: FailureCode) -> str | None:
    if code is FailureCode.EXTRACTION:
        return _fields_hint(run)
    if code is FailureCode.BAD_RESPONSE:
        status = run.stats.get("http_status")
        if status in _GONE:
            return "open the address in a browser: it may have moved"
        return "try again when the site works" if isinstance(status, int) and status >= 500 else None
    return _BY_CODE.get(code)


def _fields_hint(run: Run) -> str:
    """Choose the hint for missing fields by the type of the document."""
    content_type = str(run.stats.get("content_type") or "")
    if "json" in content_type:
        return "it is JSON: give the paths of the fields with --jsonpath NAME=PATH, for example title=$.items[0].title"
    if run.stats.get("is_binary"):
        return "it is a file, not a page: `corral crawl URL --save-files` saves files, each with a record"
    where = "give the selectors of the fields with --css NAME=SELECTOR"
    if run.resolved_strategy in (Strategy.HTTP, Strategy.API_REPLAY) and run.kind != CRAWL:
        return f"a list or text drawn by JavaScript needs --strategy browser; otherwise {where}"
    return where


def reason_of(run: Run) -> str:
    """Return the reason of a failure in one line: code, detail, message."""
    code = run.failure_code or run.state.value
    detail = f" ({run.failure_detail})" if run.failure_detail else ""
    return f"{code}{detail}: {run.error_message}" if run.error_message else f"{code}{detail}"
