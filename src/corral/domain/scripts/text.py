"""Make the output of scripts safe for events and logs."""

# The limit for events; the whole output is an artifact.
MAX_EVENT_CHARS = 4096


def escape_controls(text: str, max_chars: int = MAX_EVENT_CHARS) -> str:
    """Return the end of the text with control characters escaped; line breaks and tabs stay."""
    text = text.replace("\r\n", "\n")
    escaped = "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in text[-max_chars:])
    return escaped[-2 * max_chars :]


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
