import random

from corral.engine.hosts.host_state import HostState


def test_the_chances_of_a_host_vary_and_their_mean_is_a_half_after_two() -> None:
    host, dice = HostState("a.test"), random.Random(1)

    chances = [host.draw(dice.random) for _ in range(10)]

    assert len(set(chances)) == 10
    assert all(abs(sum(chances[at : at + 2]) - 1) < 1e-9 for at in range(0, 10, 2))
