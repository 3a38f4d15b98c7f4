"""Numbers worth telling, beside passed or failed: printed at the end, by the chaos suite's conftest."""

LINES: list[str] = []


def report(line: str) -> None:
    LINES.append(line)
