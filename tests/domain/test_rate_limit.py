from corral.domain.rate_limit import Rate, RateLimiter


def test_a_burst_passes_and_then_as_many_as_the_rate_allows() -> None:
    limiter = RateLimiter(Rate(per_second=2, burst=3))
    assert [limiter.take("a", 0.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert limiter.take("a", 0.25) == 0.25
    assert limiter.take("a", 0.5) == 0
    assert [limiter.take("a", 100.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_clients_have_buckets_of_their_own_and_a_rate_of_zero_is_no_limit() -> None:
    limiter = RateLimiter(Rate(per_second=1, burst=1))
    assert [limiter.take(client, 0.0) for client in "aab"] == [0, 1, 0]
    unlimited = RateLimiter(Rate(per_second=0, burst=1))
    assert not any(unlimited.take("a", 0.0) for _ in range(10))


def test_memory_is_bounded_by_forgetting_who_was_seen_last() -> None:
    limiter = RateLimiter(Rate(per_second=1, burst=1), max_clients=2)
    for client in "aba":
        limiter.take(client, 0.0)
    assert limiter.take("c", 0.0) == 0  # forgets b
    assert (limiter.take("a", 0.0), limiter.take("b", 0.0)) == (1, 0)
