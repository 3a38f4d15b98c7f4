import pytest

from corral.domain.runs.artifact import UNNAMED_FOR_S, ArtifactKind, HeldFile, beyond_quota, id_in, orphans
from corral.domain.runs.outcome import AttemptOutcome, Failed, FailureCode, Fetched, wants_evidence

ID = "0123456789abcdef0123456789abcdef"


def a_file(name: str, size: int = 10, age_s: float = 0.0) -> HeldFile:
    return HeldFile(name, f"{name}.png", size, age_s)


@pytest.mark.parametrize(
    "name, found",
    [
        (f"{ID}.png", ID),
        (f"{ID}.html.txt", ID),
        (f"{ID}.html", None),
        (f"{ID}", None),
        (f"x{ID}.png", None),
        (f"{ID}.png\n", None),
        ("../../etc/passwd", None),
        ("notes.txt", None),
    ],
)
def test_only_files_named_by_us_are_ours(name: str, found: str | None) -> None:
    assert id_in(name) == found


def test_a_file_that_no_run_names_is_an_orphan_once_nobody_is_going_to_name_it() -> None:
    late, fresh, named = a_file("a", age_s=UNNAMED_FOR_S + 1), a_file("b", age_s=5), a_file("c", age_s=1e9)
    assert orphans([late, fresh, named], frozenset({"c"})) == [late]


def test_beyond_the_quota_the_oldest_go_first_and_no_more_than_needed() -> None:
    files = [a_file(str(number), size=10, age_s=number) for number in range(10)]
    assert beyond_quota(files, 100) == []
    doomed = beyond_quota(files, 50)
    assert [file.id for file in doomed] == ["9", "8", "7", "6", "5", "4"], "down to nine tenths, oldest first"
    assert len(beyond_quota(files, 0)) == 10


def test_scraped_html_is_never_served_as_html() -> None:
    assert ArtifactKind.HTML.content_type.startswith("text/plain")
    assert not ArtifactKind.HTML.suffix.endswith(".html")


@pytest.mark.parametrize(
    "outcome, wanted",
    [
        (Fetched(), False),
        (Fetched(missing=("price",)), True),
        *((Failed(code, "no"), code not in {"policy", "cancelled", "worker_lost"}) for code in FailureCode),
    ],
)
def test_evidence_is_wanted_of_what_a_page_did_not_of_what_we_refused(outcome: AttemptOutcome, wanted: bool) -> None:
    assert wants_evidence(outcome) is wanted
