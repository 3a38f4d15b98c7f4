"""The kinds of surveys of a page."""

from enum import StrEnum

MAX_SNIPPET_CHARS = 20_000
MAX_SAMPLES = 50
# On top of the time for the page itself.
READING_S = 5.0


class Survey(StrEnum):
    PAGE = "page"  # what is there to be collected
    MATCHES = "matches"  # how often each of the asked fields is there
    LIST = "list"  # the first field is the links of a list, a second one the link to its next page
    CLICK = "click"  # selectors for the element that the only field names: by css, by xpath, or by its text (const)
    IMAGES = "images"  # the images of the page, for a dataset
    RECORDING = "recording"  # the page itself, to be stored as a test
