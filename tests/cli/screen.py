"""A terminal for commands that draw on one: what a person would see on it."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from select import select

from tests import forked
from tests.cli.command import Corral
from tests.slack import SLACK
from tests.waiting import block_until

_TOKEN = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Screen:
    """Understands what Rich writes: lines, colours, erased lines, and the cursor going up."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._text = ""
        self.frames = 0  # how often the cursor went up to draw again

    def read(self) -> str:
        """What stands on the screen now."""
        while select([self._descriptor], [], [], 0)[0]:
            try:
                self._text += os.read(self._descriptor, 65_536).decode(errors="replace")
            except OSError:  # the command has ended
                break
        return self._draw()

    def wait_for(self, is_shown: Callable[[str], bool]) -> str:
        block_until(lambda: is_shown(self.read()), within_s=30)
        return self.read()

    def _draw(self) -> str:
        lines, row, column, self.frames = [""], 0, 0, 0
        for token in _TOKEN.finditer(self._text):
            if token[0] == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif token[0] == "\r":
                column = 0
            elif token[2] == "A":
                row = max(0, row - int(token[1] or 1))
                self.frames += 1
            elif token[2] == "K":
                lines[row] = ""
            elif token[2] is None:
                text, line = token[0], lines[row].ljust(column)
                lines[row] = line[:column] + text + line[column + len(text) :]
                column += len(text)
        return "\n".join(lines)


@contextmanager
def on_terminal(corral: Corral, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], Screen]]:
    ours, theirs = os.openpty()
    environment = corral.environment({"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"})
    command = [*forked.command(), *arguments]
    process = subprocess.Popen(
        command, cwd=corral.folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        yield process, Screen(ours)
        process.wait(30 * SLACK)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
