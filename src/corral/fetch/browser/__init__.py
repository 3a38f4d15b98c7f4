"""Chromium by way of Playwright."""
