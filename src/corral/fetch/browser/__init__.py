"""The `browser` strategy: Chromium, driven by Playwright."""
