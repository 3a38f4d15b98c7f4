"""Text of scripts as it may be shown in events and logs."""

# In the event; the whole is an artifact.
MAX_SHOWN_CHARS = 4096


def escape_controls(text: str, most: int = MAX_SHOWN_CHARS) -> str:
    """The end of the text with control characters escaped; line breaks and tabs stay."""
    text = text.replace("\r\n", "\n")
    shown = "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in text[-most:])
    return shown[-2 * most :]


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
