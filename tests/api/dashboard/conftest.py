"""The dashboard as a person has it: a running installation and a real Chromium in front of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from corral.fetch.browser.launch_args import find_chromium
from tests.chaos.level import LEVEL
from tests.stack import Stack, corral_up, demo_site


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every process that tests starts an installation and a browser for these: the long run has them all."""
    here = Path(__file__).parent
    spared = {item for item in items if not LEVEL and item.path.parent == here and item.get_closest_marker("slow")}
    if spared:
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if item not in spared]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    settings = {"APP_RETRY_BASE_SECONDS": "0.1", "APP_RETRY_CAP_SECONDS": "0.2", "APP_SHUTDOWN_GRACE_SECONDS": "0.5"}
    with demo_site() as site, corral_up(tmp_path_factory.mktemp("dashboard"), site, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_chromium()), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser, stack: Stack) -> Iterator[Page]:
    """A tab of which nothing may complain: no error, no broken policy, nothing from elsewhere."""
    context = chromium.new_context(base_url=stack.url, viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    complaints: list[str] = []
    elsewhere: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        # A refused request is shown at its control; the browser also mentions it.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    tab.on("console", hear)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda each: None if each.url.startswith((stack.url, "data:")) else elsewhere.append(each.url))
    tab.set_default_timeout(30_000)
    yield tab
    context.close()
    assert complaints == []
    assert elsewhere == []
