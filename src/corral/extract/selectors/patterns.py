"""Search the text of a field with a regular expression of the user."""

from corral.domain.fields.patterns import compile_pattern
from corral.extract.page import normalize_space

MAX_MATCHES = 10_000


def search_text(pattern: str, text: str, limit: int = MAX_MATCHES) -> list[str]:
    """Return every match: its first group if it has one, else all of it.

    A pattern may run forever, so the caller must limit the time.
    """
    values: list[str] = []
    for match in compile_pattern(pattern).finditer(text):
        value = normalize_space(match[1] if match.re.groups else match[0])
        if value:
            values.append(value)
        if len(values) >= limit:
            break
    return values
