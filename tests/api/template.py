"""A shop whose template changes, jobs for it, and the history that they are judged by."""

import random
from collections.abc import Callable
from typing import Any

from tests.engine.crawl.site import Page, Site
from tests.stack import Stack

FIELDS = [
    {"name": "name", "css": ".name"},
    {"name": "price", "css": ".price"},
    {"name": "sku", "css": ".sku"},
]
ITEMS = 12
HISTORY = 5
_WORDS = ("blue", "chair", "garden", "lamp", "coffee", "street", "travel", "music", "modern", "city", "light")

Html = Callable[[dict[str, str]], str]


def an_item(values: dict[str, str]) -> str:
    words = f"<p>More words about {values['name']}, which is one of many things.</p>" * 8
    return (
        f"<title>{values['name']}</title><h1 class=name>{values['name']}</h1><b class=price>{values['price']}</b>"
        f"<i class=sku>{values['sku']}</i>{words}"
    )


def with_markup(old: str, new: str) -> Html:
    return lambda values: an_item(values).replace(old, new)


def a_message(text: str) -> Html:
    return lambda _: f"<title>{text}</title><h1 class=name>{text}</h1><p>Please go on from the start page.</p>"


MUTATIONS: dict[str, Html] = {
    "class renamed": with_markup("class=price", "class=amount-2"),
    "element wrapped": with_markup("<b class=price>", "<b class=price><u>Our price:</u> "),
    "field dropped": lambda values: an_item({**values, "sku": ""}),
    "currency swapped": with_markup("€", "$"),
    "soft 404": a_message("Page not found"),
    "login wall": a_message("Please log in to continue"),
}


def a_shop(render: Html, items: int = ITEMS, seed: int = 0) -> dict[str, Page]:
    dice = random.Random(seed)
    paths = [f"/item/{number}" for number in range(items)]
    links = "".join(f'<h2><a href="{path}">{path}</a></h2>' for path in paths)
    pages = {"/list": Page(raw=f"<title>List</title>{links}"), "/robots.txt": Page(status=404)}
    for number, path in enumerate(paths):
        values = {
            "name": " ".join(random.Random(number).choices(_WORDS, k=3)),
            "price": f"{dice.randint(10, 90)},{dice.randint(10, 99)} €",
            "sku": f"AB-{1000 + number}",
        }
        pages[path] = Page(raw=render(values))
    return pages


def add_job(stack: Stack, shop: Site, path: str, **options: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs", json={"target_url": shop.url + path, "fields": FIELDS, **options})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def list_job(stack: Stack, shop: Site, **options: Any) -> dict[str, Any]:
    return add_job(stack, shop, "/list", crawl_mode="list", list_config={"item_links": "h2 > a"}, **options)


def run_job(stack: Stack, job: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    return stack.wait_for_end(stack.start(job, strategy="http", **overrides)["id"])


def build_history(stack: Stack, shop: Site, job: dict[str, Any], runs: int = HISTORY) -> None:
    for seed in range(runs):
        shop.pages.update(a_shop(an_item, seed=seed))
        run = run_job(stack, job)
        assert run["status"] == "completed", run
        assert run["stats"].get("verdict") is None


def records_of(stack: Stack, job: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = stack.client.get("/jobs/records", params={"job_id": job["id"], "limit": 200, **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json())
