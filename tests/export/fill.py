"""Runs with as many records as a test wants, written behind the store's back: through it a million take minutes."""

import asyncio
import json

import psycopg
import pysqlite3

from corral.domain.runs.run import CRAWL, RunAction
from corral.store.open import open_store
from tests.store.builders import CREATED, a_run
from tests.store.queries.crawl.builders import url as seed

PLAN = {"start_urls": ["http://a.test/"]}
_NUMBERS = {
    False: "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last}) ",
    True: "WITH numbers AS (SELECT generate_series(0, {last}) AS n) ",
}
# Ids in order, as those of real records are.
_ID = {False: "'{start}' || printf('%012d', n)", True: "'{start}' || lpad(n::text, 12, '0')"}
_DATA = {
    False: "json_object('url', 'http://a.test/' || n, 'title', '=' || n, 'depth', n % 7, 'text', {text}, 'n', n)",
    True: "jsonb_build_object('url', 'http://a.test/' || n, 'title', '=' || n, 'depth', n % 7, 'text', {text}, 'n', n)",
}


def fill_crawl(url: str, count: int, chars: int = 1000, *, goes_on: bool = False) -> str:
    """The id of a crawl with so many records, each with a text so long."""
    run_id = asyncio.run(_run(url, goes_on=goes_on))
    is_postgres = not url.startswith("sqlite")
    words = ("it was a dark and stormy night " * (chars // 31 + 1))[:chars]
    data = _DATA[is_postgres].format(text=_text(words, is_postgres))
    statement = (
        _NUMBERS[is_postgres].format(last=count - 1)
        + "INSERT INTO records (id, run_id, job_id, item_key, data, created_at) SELECT "
        + f"{_ID[is_postgres].format(start=run_id[:24])}, '{run_id}', NULL, 'key-' || n, {data}, n"
        + " FROM numbers"
    )
    if is_postgres:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())
    else:
        with pysqlite3.connect(url.removeprefix("sqlite:///")) as database:
            database.execute(statement)
    return run_id


def _text(words: str, is_postgres: bool) -> str:
    return f"'{words}'::text" if is_postgres else f"'{words}'"


async def _run(url: str, *, goes_on: bool) -> str:
    store = open_store(url)
    try:
        run = a_run(kind=CRAWL, max_attempts=1, payload={"url": "http://a.test/", "crawl": PLAN})
        run_id, _ = await store.crawls.add(run, CREATED, [seed(0)])
        if not goes_on:  # so that no node thinks it has to crawl
            await store.runs.apply_action(run_id, RunAction.CANCEL)
        return run_id
    finally:
        await store.close()


def document(number: int, words: str) -> dict[str, object]:
    """What the record of that number says."""
    made = {"url": f"http://a.test/{number}", "title": f"={number}", "depth": number % 7, "text": words, "n": number}
    return dict(json.loads(json.dumps(made)))
