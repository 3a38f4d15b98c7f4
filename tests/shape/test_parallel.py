"""Which process gets which tests."""

from collections import deque

from tests.parallel import divide, take_half


def test_each_process_has_consecutive_tests_and_about_as_much_to_do() -> None:
    weights = [1] * 60 + [20] * 12
    ranges = divide(weights, 3)
    assert [test for each in ranges for test in each] == list(range(72))
    assert [sum(weights[test] for test in each) for each in ranges] == [100, 100, 100]


def test_more_processes_than_tests_leave_some_without_any() -> None:
    assert [list(each) for each in divide([1, 1], 4)] == [[0], [], [1], []]


def test_who_has_nothing_left_takes_the_last_half_of_what_another_has_to_do() -> None:
    weights = [20, 20, 20, *[1] * 60]
    waiting = deque(range(63))
    taken = take_half(waiting, weights)
    assert [*waiting, *taken] == list(range(63))
    assert taken == list(range(3, 63))


def test_the_last_test_of_another_is_taken_too() -> None:
    waiting = deque([4])
    assert take_half(waiting, [1] * 5) == [4]
    assert take_half(waiting, [1] * 5) == []
