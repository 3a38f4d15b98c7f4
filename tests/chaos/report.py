"""Numbers worth telling, beside passed or failed: printed at the end, by the conftest of all tests."""

LINES: list[str] = []


def report(line: str) -> None:
    LINES.append(line)
