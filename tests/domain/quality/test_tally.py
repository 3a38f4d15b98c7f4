from corral.domain.quality.tally import Tally


def test_a_name_that_was_never_seen_counts_nothing_and_is_not_added() -> None:
    tally = Tally()

    assert tally["text"] == 0
    assert not tally


def test_the_most_common_names_come_first_and_the_first_seen_of_equals() -> None:
    tally = Tally({"a": 1, "b": 2})
    tally.add(Tally({"a": 1, "c": 5}))

    assert tally.most_common(2) == [("c", 5), ("a", 2)]
