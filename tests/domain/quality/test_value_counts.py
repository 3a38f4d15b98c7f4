from corral.domain.quality.value_counts import ValueCounts


def test_a_name_that_was_never_seen_counts_nothing_and_is_not_added() -> None:
    counts = ValueCounts()

    assert counts["text"] == 0
    assert not counts


def test_the_most_common_names_come_first_and_the_first_seen_of_equals() -> None:
    counts = ValueCounts({"a": 1, "b": 2})
    counts.add(ValueCounts({"a": 1, "c": 5}))

    assert counts.most_common(2) == [("c", 5), ("a", 2)]
