import threading
import uuid

from hypothesis import given
from hypothesis import strategies as st

from corral.domain.ids import event_id, is_id
from corral.runtime.new_ids import new_id, new_owner


def test_ids_sort_by_when_they_were_made() -> None:
    ids = [new_id() for _ in range(20_000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_an_id_is_a_uuid_of_version_seven() -> None:
    for _ in range(1000):
        parsed = uuid.UUID(new_id())
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)


def test_an_id_tells_when_it_was_made() -> None:
    import time

    before = time.time_ns() // 1_000_000
    made = uuid.UUID(new_id()).int >> 80
    # Ids made in one burst are numbered on, so they may be a little ahead of the clock.
    assert before - 1 <= made <= before + 5000


def test_ids_of_several_threads_are_unique() -> None:
    made: list[list[str]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=lambda each=each: each.extend(new_id() for _ in range(5000))) for each in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({text for each in made for text in each}) == 20_000
    assert all(each == sorted(each) for each in made)


def test_owners_differ_and_carry_128_bits() -> None:
    owners = {new_owner() for _ in range(1000)}
    assert len(owners) == 1000
    assert all(len(owner) == 32 for owner in owners)


def test_an_event_is_named_by_its_run_and_number() -> None:
    run_id = new_id()
    assert event_id(run_id, 1) == event_id(run_id, 1)
    assert len({event_id(run_id, 1), event_id(run_id, 2), event_id(new_id(), 1)}) == 3
    assert is_id(event_id(run_id, 1))


def test_ids_are_recognised() -> None:
    assert is_id(new_id())
    assert is_id(new_id().upper())


@given(st.text())
def test_other_text_is_not_an_id(text: str) -> None:
    try:
        expected = str(uuid.UUID(text)) == text.lower()
    except ValueError:
        expected = False
    assert is_id(text) == expected
    assert not is_id("{" + new_id() + "}")
    assert not is_id(new_id().replace("-", ""))
