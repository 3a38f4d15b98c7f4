"""What a person can do about a run that did not work out."""

from corral.domain.outcome import FailureCode
from corral.domain.run import Run

_BY_DETAIL = {
    "no_session": "log in once with `corral session capture JOB`, or hand over cookies with `corral session add JOB`",
    "session_dead": "log in anew with `corral session capture JOB` or `corral session add JOB`, then resume the run",
    "auth_state_invalid": "the stored session was altered, or its key is gone; remove it and add it again",
    "robots": "robots.txt of the site asks not to fetch this page; `corral job add --no-robots` does not ask it",
    "egress": "the page leads to a private address; APP_EGRESS_ALLOW lists those that may be reached",
    "tls": "nobody vouches for its certificate; where that is accepted, `corral job add --no-verify-tls` takes any",
    "proxy": "check the proxy of the job, its user and password; the page is never fetched without it",
    "proxy_sealed": "the key its user and password were sealed with is gone; set the proxy of the job again",
    "body_too_large": "raise APP_MAX_BODY_BYTES",
    "no_recipe": "run it once with --strategy auto or browser: what the page fetches for itself is recorded",
    "shape_changed": "the site changed; a run with --strategy browser records it anew",
    # Budgets of their own, which a longer time for the whole attempt does not change.
    "connect": "a connection has to stand within 5 s, whatever --timeout says; check the target, or try later",
    "first_byte": "over HTTP the first byte has to come within 10 s, whatever --timeout says; try later",
    "gap": "no pause within an answer may last longer than 10 s, whatever --timeout says; try later",
    "strategy_unavailable": "choose another strategy with --strategy",
}
_BY_CODE = {
    FailureCode.BLOCKED: "the site refuses this client; try --strategy browser, or later",
    FailureCode.RATE_LIMITED: "the site wants fewer requests; try again later, or with a higher --max-attempts",
    FailureCode.TIMEOUT: "give it more time with --timeout",
    FailureCode.NETWORK: "check the address and this machine's connection",
    FailureCode.BAD_RESPONSE: "open the address in a browser: it may have moved",
    FailureCode.EXTRACTION: "say where the fields are with --css NAME=SELECTOR",
    FailureCode.POLICY: "Corral refuses this by its own rules; the message says which",
    FailureCode.LIMIT: "raise the limit that the message names",
    FailureCode.WORKER_LOST: "the page may be too much for this machine; see its history",
    FailureCode.UNKNOWN: "this is a fault in Corral; its history has the traceback",
}


def hint_for(run: Run) -> str:
    hint = _BY_DETAIL.get(run.failure_detail or "")
    if hint is None and run.failure_code in frozenset(FailureCode):
        hint = _BY_CODE.get(FailureCode(run.failure_code))
    history = f"history: corral events {run.id}"
    return f"{hint}; {history}" if hint else history


def reason_of(run: Run) -> str:
    """Why a run ended as it did, in one line: code, detail, message."""
    code = run.failure_code or run.state.value
    detail = f" ({run.failure_detail})" if run.failure_detail else ""
    return f"{code}{detail}: {run.error_message}" if run.error_message else f"{code}{detail}"
