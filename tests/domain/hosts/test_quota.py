"""How the turns of a host are divided among nodes: never too many, each gets some, nobody waits for ever."""

from hypothesis import given
from hypothesis import strategies as st

from corral.domain.hosts.quota import HOLD_S, HostQuota, QuotaRequest, compute_quota

A = "a"


class Simulated:
    """Nodes that ask again and again, a second apart, as the store keeps what they have."""

    def __init__(self, most: int, wanted: list[int], pauses: list[bool] | None = None) -> None:
        self.most = most
        self.wanted = dict(enumerate(wanted))
        self.pauses = dict(enumerate(pauses or [False] * len(wanted)))
        self.now = 0.0
        self.rows: dict[int, tuple[int, float]] = {}  # turns, since
        self.used: dict[int, int] = dict.fromkeys(self.wanted, 0)
        self.served: dict[int, int] = dict.fromkeys(self.wanted, 0)

    def _part(self, node: int) -> HostQuota:
        slots, since = self.rows[node]
        return HostQuota(str(node), slots, self.wanted[node], self.pauses[node], self.now - since)

    def ask(self, node: int) -> None:
        others = [self._part(other) for other in self.rows if other != node]
        mine = self._part(node) if node in self.rows else None
        ask = QuotaRequest(
            "x", self.most, self.used[node], max(1, self.wanted[node]), 0.5 if self.pauses[node] else 0.0
        )
        slots = compute_quota(str(node), ask, mine, others)
        held = max(slots, self.used[node])
        is_as_before = mine is not None and bool(mine.slots) == bool(held)
        self.rows[node] = (held, self.rows[node][1] if is_as_before else self.now)
        self.used[node] = min(slots, self.wanted[node])
        self.served[node] += bool(self.used[node])
        self.now += 0.01

    def second(self, order: list[int]) -> None:
        for node in order:
            self.ask(node)
        self.now += 1.0


@given(
    most=st.integers(1, 40),
    wanted=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    data=st.data(),
)
def test_together_they_never_have_more_than_the_host_allows_and_everybody_gets_some(
    most: int, wanted: list[int], data: st.DataObject
) -> None:
    nodes = Simulated(most, wanted)
    order = data.draw(st.permutations(list(nodes.wanted)))
    for _ in range(8 * len(wanted)):
        nodes.second(order)
        assert sum(slots for slots, _ in nodes.rows.values()) <= most
    assert all(nodes.served.values())


@given(wanted=st.lists(st.integers(1, 50), min_size=2, max_size=4), most=st.integers(1, 20))
def test_where_there_is_a_pause_one_node_at_a_time_asks_and_each_has_its_time(wanted: list[int], most: int) -> None:
    nodes = Simulated(most, wanted, [True] + [False] * (len(wanted) - 1))
    for _ in range(8 * len(wanted)):
        nodes.second(list(nodes.wanted))
        assert sum(slots > 0 for slots, _ in nodes.rows.values()) <= 1
    assert all(nodes.served.values())


def test_a_node_by_itself_has_as_many_as_it_wants_and_some_to_grow() -> None:
    for wanted, expected in ((1, 5), (10, 14), (30, 32), (100, 32)):
        assert compute_quota(A, QuotaRequest("x", 32, 0, wanted), None, []) == expected
    assert compute_quota(A, QuotaRequest("x", 5, 0, 100), None, [HostQuota("gone", 0, 0, False, 9.0)]) == 5


def test_another_node_finds_what_the_first_one_does_not_need() -> None:
    assert compute_quota("b", QuotaRequest("x", 32, 0, 3), None, [HostQuota("a", 14, 10, False, 9.0)]) == 7


def test_a_newcomer_gets_what_is_free_and_then_its_share() -> None:
    ask = QuotaRequest("x", 32, 32, 100)
    newcomer = HostQuota("b", 0, 100, False, 0.5)
    assert compute_quota("b", QuotaRequest("x", 32, 0, 100), None, [HostQuota("a", 32, 100, False, 9.0)]) == 0
    assert compute_quota(A, ask, HostQuota("a", 32, 100, False, 9.0), [newcomer]) == 16
    assert compute_quota("b", QuotaRequest("x", 32, 0, 100), newcomer, [HostQuota("a", 16, 100, False, 9.0)]) == 16


def test_what_one_does_not_want_is_for_the_others() -> None:
    assert (
        compute_quota(
            A, QuotaRequest("x", 32, 32, 100), HostQuota("a", 32, 100, False, 9.0), [HostQuota("b", 0, 3, False, 0.5)]
        )
        == 29
    )


def test_where_there_are_fewer_turns_than_nodes_one_keeps_them_for_a_while_only() -> None:
    waiting = HostQuota("b", 0, 5, False, 1.0)
    for since_s, expected in ((HOLD_S - 0.1, 1), (HOLD_S + 0.1, 0)):
        assert compute_quota(A, QuotaRequest("x", 1, 1, 5), HostQuota("a", 1, 5, False, since_s), [waiting]) == expected


def test_a_pause_is_kept_several_times_before_another_node_goes_on() -> None:
    mine, waiting = HostQuota("a", 1, 5, True, 20.0), HostQuota("b", 0, 5, False, 15.0)
    assert compute_quota(A, QuotaRequest("x", 1, 0, 5, pause_s=10.0), mine, [waiting]) == 1
    assert compute_quota(A, QuotaRequest("x", 1, 0, 5, pause_s=5.0), mine, [waiting]) == 0
