"""The outage of a crawl's fixed proxy: how long the crawl waits for it."""

from dataclasses import dataclass


@dataclass(slots=True)
class ProxyOutage:
    """How long a crawl waits for its fixed proxy. Times are seconds of any clock.

    Without the pause, all pages of a crawl would fail during a short restart of the proxy.
    """

    rounds: int = 0  # faults since the last answer, counting those of one round as one
    paused_until: float = float("-inf")
    has_answered: bool = False

    def note_answer(self) -> None:
        self.rounds, self.paused_until, self.has_answered = 0, float("-inf"), True

    def note_fault(self, now: float, pause_s: float) -> None:
        """Begin a pause, unless the page was already under way when the last pause began."""
        if now >= self.paused_until:
            self.rounds += 1
            self.paused_until = now + pause_s

    def is_over(self, attempts: int) -> bool:
        """True once the proxy has failed in as many rounds as there are attempts."""
        return self.rounds >= attempts
