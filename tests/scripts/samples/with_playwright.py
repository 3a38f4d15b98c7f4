"""An ordinary scraper with Playwright; it knows nothing of Corral."""

import argparse
import json
import os
import shutil
import sys

from playwright.sync_api import sync_playwright

parser = argparse.ArgumentParser()
parser.add_argument("--url", required=True)
url = parser.parse_args().url
with sync_playwright() as playwright:
    chromium = shutil.which("chromium-headless-shell")
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"] if os.getuid() == 0 else [])
    page = browser.new_page()
    for number in range(3):
        response = page.goto(f"{url}/{number}")
        if response is None or not response.ok:
            sys.exit(f"{url}/{number} answered {response and response.status}")
        print(json.dumps(json.loads(page.inner_text("body"))))
    browser.close()
