"""The kinds of surveys of a page."""

from enum import StrEnum

MAX_SNIPPET_CHARS = 20_000
MAX_SAMPLES = 50
# Added to the time limit of the page itself.
READING_S = 5.0


class Survey(StrEnum):
    PAGE = "page"  # everything that can be collected
    MATCHES = "matches"  # how often each requested field matches
    LIST = "list"  # the first field selects the item links of a list, the second one the link to its next page
    CLICK = "click"  # selectors for the element that the only field selects: by css, by xpath, or by its text (const)
    IMAGES = "images"  # the images of the page, for a dataset
    RECORDING = "recording"  # the page itself, to be stored as a test
