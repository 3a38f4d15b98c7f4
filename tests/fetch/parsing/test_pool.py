import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop

from corral.domain.fields.spec import FieldSpec
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed
from corral.domain.runs.payload.stored import Payload
from corral.extract.page_reader import ReadAnswer, read_page
from corral.extract.value_limit import DEFAULT_CHARS
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.parsing.messages import ReaderLimits
from corral.fetch.parsing.pool import ParsePool
from corral.fetch.parsing.process import ReadingBroke
from corral.fetch.robots import Robots
from tests.extract.pages.builders import READ_TIME
from tests.fetch.hostile import ROUTES, Hostile, Request
from tests.fetch.parser_builders import ORDINARY, SLOW, URL, a_request, measure_lag, open_pool, wait_until_gone
from tests.forked.process import start_process
from tests.slack import SLACK

# What is promised of a machine that has nothing else to do is 0.25 s.
MAX_LAG_S = 0.25 * SLACK
QUICK = ReaderLimits(cpu_s=0.6)
TITLE = FieldSpec("title")
# Every paragraph is compared with all that stand before it.
PARAGRAPHS = b"<title>t</title>" + b"<p>a</p>" * 30_000
BOMB = "x ~ p"


async def test_a_page_is_read_as_it_would_be_here() -> None:
    request = a_request(ORDINARY, TITLE, FieldSpec("all", css="p", all=True), FieldSpec("none", css="b"))
    async with open_pool() as pool:
        found, here = await pool.read(request), read_page(request, READ_TIME)
        assert isinstance(found, ReadAnswer)
        assert replace(found, cpu_ms=0) == replace(here, cpu_ms=0)
        assert await pool.read(a_request("<title>ü</title>".encode("latin-1"))) != read_page(request, READ_TIME)


@pytest.mark.long
def test_pages_are_read_on_the_event_loop_that_workers_have() -> None:
    async def both() -> list[ReadAnswer | Failed]:
        async with open_pool() as pool:
            return await asyncio.gather(*(pool.read(a_request(body, TITLE)) for body in (ORDINARY, SLOW * 40)))

    assert [read.record for read in uvloop.run(both()) if isinstance(read, ReadAnswer)][:1] == [{"title": "A page"}]


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "100k levels": (lambda: b"<div>" * 100_000, "nested too deeply"),
    "100k levels, hidden": (lambda: b"<div><!--</div>-->" * 100_000, "processor time"),
    "1M attributes": (lambda: b"<div " + b" ".join(b"a%d=1" % n for n in range(1_000_000)) + b">", "processor time"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_page_that_is_too_much_costs_a_reader_and_nothing_else(name: str) -> None:
    make, why = HOSTILE[name]
    request = a_request(make())
    async with open_pool(QUICK) as pool, measure_lag() as lag:
        hostile = asyncio.create_task(pool.read(request, 20))
        others = [asyncio.create_task(pool.read(a_request(ORDINARY), 20)) for _ in range(10)]
        failed = await hostile
        started = time.monotonic()
        read = [await other for other in others]
        assert time.monotonic() - started < 2 * SLACK  # a new reader and ten pages
    assert isinstance(failed, Failed)
    assert (failed.code, failed.detail) == ("limit", "parse")
    assert why in failed.message
    assert URL in failed.message
    assert all(isinstance(answer, ReadAnswer) and answer.title == "A page" for answer in read)
    assert lag.worst_s < MAX_LAG_S


@pytest.mark.long
async def test_sixty_megabytes_of_links_are_too_much() -> None:
    request = a_request(b"".join(b'<a href="/some/path/item-%07d">an item</a>\n' % n for n in range(1_300_000)))
    async with open_pool() as pool, measure_lag() as lag:
        failed = await pool.read(request, 60)
        assert isinstance(await pool.read(a_request(ORDINARY)), ReadAnswer)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.detail) == ("limit", "parse")
    assert lag.worst_s < MAX_LAG_S


async def test_twenty_megabytes_of_text_are_read() -> None:
    request = a_request(b"<title>t</title><p>" + b"word " * 4_000_000 + b"</p>", TITLE, FieldSpec("p", css="p"))
    async with open_pool() as pool, measure_lag() as lag:
        answer = await pool.read(request, 60)
    assert isinstance(answer, ReadAnswer)
    assert (answer.title, len(answer.record["p"])) == ("t", DEFAULT_CHARS)
    assert answer.problems == {"p": "limit:value_chars"}
    assert lag.worst_s < MAX_LAG_S


async def test_a_page_that_takes_too_much_memory_is_refused_and_its_reader_replaced() -> None:
    request = a_request(b'<a href="/x">y</a>' * 200_000)
    async with open_pool(ReaderLimits(address_bytes=200 * 2**20, resident_bytes=100 * 2**20), is_forked=False) as pool:
        before = pool.pids
        failed = await pool.read(request, 60)
        assert isinstance(await pool.read(a_request(ORDINARY)), ReadAnswer)
        assert pool.pids[0] == before[0]
        assert pool.pids[1] != before[1]
    assert isinstance(failed, Failed)
    assert (failed.code, failed.detail) == ("limit", "parse")


async def test_a_reader_that_has_grown_is_replaced_before_the_next_page_pays_for_it() -> None:
    request = a_request(b'<a href="/x">y</a>' * 50_000, TITLE)
    async with open_pool(ReaderLimits(resident_bytes=140 * 2**20), is_forked=False) as pool:
        pids = [pool.pids[1]]
        for _ in range(3):
            answer = await pool.read(request, 60)
            assert isinstance(answer, ReadAnswer)
            assert answer.refused is None
            assert isinstance(await pool.read(a_request(ORDINARY)), ReadAnswer)
            pids.append(pool.pids[1])
    assert len(set(pids)) == 4


async def test_a_reader_keeps_the_memory_of_one_page_for_the_next() -> None:
    page = a_request(b"<title>t</title>" + b"<p class=a>Some words</p>" * 4_000, FieldSpec("all", css="p", all=True))
    async with open_pool() as pool:
        for _ in range(5):
            await pool.read(page)
        before = _page_faults(pool.pids[1])
        for _ in range(10):
            await pool.read(page)
        faults = _page_faults(pool.pids[1]) - before
    # Returned to the kernel, the 100 KB of the page and its tree are some 300 faults for each page.
    assert faults < 1_000


def _page_faults(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


# -- selectors -------------------------------------------------------------------------------------------------


async def test_a_selector_that_takes_too_long_costs_its_field_only() -> None:
    request = a_request(PARAGRAPHS, TITLE, FieldSpec("bomb", css=BOMB), FieldSpec("first", css="p"))
    async with open_pool(ReaderLimits(selector_s=0.2)) as pool, measure_lag() as lag:
        answer = await pool.read(request, 20)
    assert isinstance(answer, ReadAnswer)
    assert answer.record == {"title": "t", "bomb": None, "first": "a"}
    assert answer.missing == ("bomb",)
    assert answer.problems == {"bomb": "limit:selector"}
    assert lag.worst_s < MAX_LAG_S


async def test_a_page_full_of_such_selectors_is_given_up() -> None:
    fields = [FieldSpec(f"bomb {number}", css=BOMB, all=True) for number in range(20)]
    async with open_pool(ReaderLimits(selector_s=0.1)) as pool:
        failed = await pool.read(a_request(PARAGRAPHS, *fields), 20)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.detail) == ("limit", "parse")


# -- readers that end ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV])
async def test_a_reader_lost_in_the_middle_is_replaced_and_the_page_read_again(number: signal.Signals) -> None:
    async with open_pool() as pool:
        before = pool.pids
        reading = asyncio.create_task(pool.read(a_request(SLOW), 20))
        await asyncio.sleep(0.1)
        os.kill(before[1], number)
        answer = await reading
        assert isinstance(answer, ReadAnswer)
        assert answer.title == "slow"
        assert pool.pids[1] != before[1]
        await wait_until_gone(before[1:])


async def test_a_page_that_loses_its_reader_twice_is_too_much() -> None:
    async with open_pool() as pool:
        reading = asyncio.create_task(pool.read(a_request(SLOW * 4), 20))
        for _ in range(2):
            await asyncio.sleep(0.2)
            os.kill(pool.pids[1], signal.SIGKILL)
        failed = await reading
        assert isinstance(await pool.read(a_request(ORDINARY)), ReadAnswer)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.detail) == ("limit", "parse")
    assert "SIGKILL" in failed.message


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_reader_lost_while_idle_is_not_noticed(number: signal.Signals) -> None:
    async with open_pool() as pool:
        lost = pool.pids[1]
        os.kill(lost, number)
        started = time.monotonic()
        assert isinstance(await pool.read(a_request(ORDINARY), 20), ReadAnswer)
        assert time.monotonic() - started < 2 * SLACK
        await wait_until_gone([lost])


async def test_the_process_behind_the_readers_is_replaced_too() -> None:
    async with open_pool(is_forked=False) as pool:
        before = pool.pids
        os.kill(before[0], signal.SIGKILL)
        assert isinstance(await pool.read(a_request(ORDINARY), 20), ReadAnswer)
        await wait_until_gone(before)


async def test_pages_sent_together_pay_for_nobody_but_themselves() -> None:
    """One too slow, one too large to go with the others, the rest ordinary, each with a title of its own."""
    async with open_pool(ReaderLimits(cpu_s=0.1)) as pool:
        bodies = [b"<title>page %d</title><p class=price>9.50</p>" % number for number in range(20)]
        bodies[3] = SLOW
        bodies[11] = bodies[11] + b"x" * 70_000
        answers = await asyncio.gather(*(pool.read(a_request(body)) for body in bodies))
        for number, answer in enumerate(answers):
            if number == 3:
                assert isinstance(answer, Failed)
                assert answer.detail == "parse"
            else:
                assert isinstance(answer, ReadAnswer), answer
                assert answer.record["title"] == f"page {number}"


async def test_a_reader_is_retired_after_so_many_pages() -> None:
    async with open_pool(ReaderLimits(pages_per_reader=3)) as pool:
        seen = set()
        for _ in range(9):
            assert isinstance(await pool.read(a_request(ORDINARY)), ReadAnswer)
            seen.add(pool.pids[1])
        assert len(seen) in (3, 4)
        await wait_until_gone(seen - set(pool.pids))


async def test_a_new_reader_is_there_at_once() -> None:
    async with open_pool(ReaderLimits(pages_per_reader=1)) as pool:
        started = time.monotonic()
        for _ in range(10):
            await pool.read(a_request(ORDINARY))
        assert (time.monotonic() - started) / 10 < 0.5 * SLACK


# -- the queue -------------------------------------------------------------------------------------------------


async def test_waiting_for_a_reader_counts_as_time_of_the_run() -> None:
    async with open_pool() as pool:
        busy = asyncio.create_task(pool.read(a_request(SLOW)))
        await asyncio.sleep(0.05)
        waiting = await pool.read(a_request(ORDINARY), 0.1)
        assert isinstance(waiting, Failed)
        assert (waiting.code, waiting.detail) == ("timeout", "total")
        assert isinstance(await busy, ReadAnswer)


async def test_a_full_queue_makes_wait_and_loses_nothing() -> None:
    async with open_pool(ReaderLimits(max_waiting=2), size=2) as pool:
        answers = await asyncio.gather(*(pool.read(a_request(b"<title>%d</title>" % n), 30) for n in range(50)))
    titles = [answer.title for answer in answers if isinstance(answer, ReadAnswer)]
    assert titles == [str(number) for number in range(50)]


async def test_a_second_process_is_there_only_for_many_pages_at_once() -> None:
    async with open_pool(size=2) as pool:
        for _ in range(3):
            await pool.read(a_request(ORDINARY), 30)
        alone = len(pool.pids)
        await asyncio.gather(*(pool.read(a_request(ORDINARY), 30) for _ in range(50)))
        assert len(pool.pids) > alone


async def test_a_run_that_was_cancelled_does_not_disturb_the_next_one() -> None:
    async with open_pool() as pool:
        reading = asyncio.create_task(pool.read(a_request(SLOW)))
        waiting = asyncio.create_task(pool.read(a_request(SLOW)))
        await asyncio.sleep(0.1)
        reading.cancel()
        waiting.cancel()
        answer = await pool.read(a_request(ORDINARY))
        assert isinstance(answer, ReadAnswer)
        assert answer.title == "A page"


async def test_a_bug_of_ours_comes_back_with_its_traceback() -> None:
    async with open_pool() as pool:
        with pytest.raises(ReadingBroke, match="Traceback"):
            await pool.read(a_request(ORDINARY, FieldSpec("x", css=5)))  # type: ignore[arg-type]
        assert isinstance(await pool.read(a_request(ORDINARY)), ReadAnswer)


async def test_a_pool_that_was_not_used_starts_nothing() -> None:
    pool = ParsePool()
    assert pool.pids == []
    await pool.close()


# -- in its place ----------------------------------------------------------------------------------------------

WORKER = """
import asyncio
from corral.fetch.parsing.pool import ParsePool
from tests.fetch.parser_builders import SLOW, a_request

async def main():
    pool = ParsePool()
    reading = asyncio.create_task(pool.read(a_request(SLOW * 8)))
    while len(pool.pids) < 2:
        await asyncio.sleep(0.01)
    print(*pool.pids, flush=True)
    await reading

asyncio.run(main())
"""


async def test_nothing_outlives_a_worker_that_was_killed() -> None:
    worker = start_process([WORKER], module="-c", env=os.environ, cwd=Path(__file__).parents[3])
    assert worker.stdout is not None
    with worker.stdout as output:
        pids = [int(word) for word in output.readline().split()]
    assert len(pids) == 2
    worker.kill()
    worker.wait()
    await wait_until_gone(pids)


async def test_a_hostile_page_fails_its_run_with_what_was_known(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def route(request: Request) -> None:
        await request.answer(b"<div><!--</div>-->" * 100_000, "Content-Type: text/html")

    monkeypatch.setitem(ROUTES, "/bomb", route)
    url = hostile.url("/bomb")
    payload = {"url": url, "fields": [{"name": "title"}], "respect_robots": False, "trusted_hosts": []}
    async with open_pool(QUICK) as pool:
        executor = HttpExecutor(egress, Robots(egress, "corral-test"), pool)
        outcome = await executor.execute(Task("run", 1, "page", "http", 1, Payload(payload), 20))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "parse")
    assert url in outcome.message
    assert outcome.stats["http_status"] == 200
    assert outcome.stats["timings"]["parse_ms"] > 500


async def test_a_host_with_expensive_pages_does_not_hold_up_the_pages_of_another() -> None:
    costly = a_request(b"<p>" + b"".join(b"<a href=/%d>%d</a>" % (n, n) for n in range(40_000)), TITLE)
    costly = replace(costly, url="http://costly.test/")
    async with open_pool(size=2) as pool:
        first = [asyncio.create_task(pool.read(costly)) for _ in range(8)]
        await asyncio.sleep(0)
        assert isinstance(await pool.read(a_request(ORDINARY, TITLE)), ReadAnswer)
        assert sum(not each.done() for each in first) >= 4, "in the order of arrival, all of them would be done"
        for each in first:
            each.cancel()
