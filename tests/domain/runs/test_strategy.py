import pytest

from corral.domain.ids import JobId
from corral.domain.jobs.job import Job, Strategy
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, WaitReason
from corral.domain.runs.probe import Probe
from corral.domain.runs.strategy import from_memory, needs_probe, resolve
from corral.domain.sites.site import Memory
from tests.domain.runs.builders import NOW

JOB = Job(JobId("j"), "http://example.test/", (), NOW)
WITH_LOGIN = Job(JobId("j"), "http://example.test/", (), NOW, requires_auth=True)
FIXED = [Strategy.HTTP, Strategy.BROWSER, Strategy.API_REPLAY]


def _probe(status: int | None, *, is_shell: bool = False) -> Probe:
    return Probe(status=status, is_shell=is_shell)


@pytest.mark.parametrize("asked", list(Strategy))
def test_a_job_with_a_login_needs_the_browser_and_no_probe(asked: Strategy) -> None:
    assert not needs_probe(WITH_LOGIN, asked)
    assert resolve(WITH_LOGIN, asked, None).strategy is Strategy.BROWSER


@pytest.mark.parametrize("asked", FIXED)
def test_what_was_asked_for_is_done_without_a_probe(asked: Strategy) -> None:
    assert not needs_probe(JOB, asked)
    assert resolve(JOB, asked, None).strategy is asked


def test_only_auto_asks_the_target() -> None:
    assert needs_probe(JOB, Strategy.AUTO)


@pytest.mark.parametrize(
    "probe, expected",
    [
        (None, Strategy.HTTP),
        (_probe(None), Strategy.HTTP),
        (_probe(200), Strategy.HTTP),
        (_probe(404), Strategy.HTTP),
        (_probe(500), Strategy.HTTP),
        (_probe(401), Strategy.BROWSER),
        (_probe(403), Strategy.BROWSER),
        (_probe(429), Strategy.BROWSER),
        (_probe(200, is_shell=True), Strategy.BROWSER),
    ],
)
def test_auto_takes_the_cheapest_that_can_work(probe: Probe | None, expected: Strategy) -> None:
    resolution = resolve(JOB, Strategy.AUTO, probe)
    assert resolution.strategy is expected
    assert resolution.reason
    assert resolution.meta == {"resolved_strategy": expected.value, "reason": resolution.reason}


@pytest.mark.parametrize(
    "failure, said",
    [
        (Deferred("site.test", WaitReason.BREAKER, 5), "the breaker of the host is open"),
        (Deferred("site.test", WaitReason.PACE, 5), "the rate limit of the host"),
        (Deferred("site.test", WaitReason.RETRY_AFTER, 5), "Retry-After"),
        (Failed(FailureCode.TIMEOUT, "no connection to the target in time", "connect"), "no connection to the target"),
    ],
)
def test_the_reason_says_why_a_probe_got_no_answer(failure: Failed | Deferred, said: str) -> None:
    reason = resolve(JOB, Strategy.AUTO, Probe(None, failure=failure)).reason
    assert said in reason
    assert "got no answer" not in reason


def test_the_reason_says_what_the_probe_saw() -> None:
    seen = resolve(JOB, Strategy.AUTO, Probe(200, what="nothing at all"))
    assert seen.reason == "the probe was answered 200, with nothing at all"


@pytest.mark.parametrize("asked", list(Strategy))
@pytest.mark.parametrize("job", [JOB, WITH_LOGIN])
def test_a_run_is_never_left_on_auto(job: Job, asked: Strategy) -> None:
    assert resolve(job, asked, None).strategy is not Strategy.AUTO


def _memory_of(strategy: Strategy, *, successes: int = 0, failures: int = 0) -> Memory:
    weight = float(successes + failures)
    return Memory("h", "k", strategy, attempts=successes + failures, weight=weight, successes=float(successes))


@pytest.mark.parametrize(
    "memories, expected",
    [
        ([], Strategy.API_REPLAY),
        ([_memory_of(Strategy.BROWSER, successes=5)], Strategy.API_REPLAY),
        ([_memory_of(Strategy.HTTP, failures=5)], Strategy.API_REPLAY),
        ([_memory_of(Strategy.HTTP, successes=5)], Strategy.HTTP),
        ([_memory_of(Strategy.API_REPLAY, successes=1)], Strategy.API_REPLAY),
        ([_memory_of(Strategy.API_REPLAY, successes=5)], Strategy.API_REPLAY),
        ([_memory_of(Strategy.API_REPLAY, failures=1)], None),
        ([_memory_of(Strategy.API_REPLAY, failures=1), _memory_of(Strategy.BROWSER, successes=5)], Strategy.BROWSER),
    ],
)
def test_a_recipe_goes_before_the_browser_until_it_disappoints(
    memories: list[Memory], expected: Strategy | None
) -> None:
    resolution = from_memory(memories, has_recipe=True)
    assert (resolution and resolution.strategy) == expected
    without = from_memory(memories)
    assert without is None or without.strategy is not Strategy.API_REPLAY
