"""What the requests of a script say about its failure."""

from corral.domain.runs.outcome import FailureCode
from corral.domain.scripts.wire import WireTally


def _tally(*statuses: int) -> WireTally:
    wire = WireTally()
    for status in statuses:
        wire.note_status("a.example", status)
    return wire


def test_the_last_request_or_most_of_them_name_the_failure() -> None:
    assert _tally(200, 200, 429).explain_failure() == (FailureCode.RATE_LIMITED, "http_429")
    assert _tally(403, 403, 200).explain_failure() == (FailureCode.BLOCKED, "http_403")
    assert _tally(500, 200, 200).explain_failure() is None
    assert _tally(503).explain_failure() == (FailureCode.BAD_RESPONSE, "http_503")
    assert _tally(200, 404).explain_failure() is None
    assert _tally().explain_failure() is None


def test_a_fault_of_the_connection_counts_and_a_tunnel_does_not() -> None:
    wire = _tally(200)
    wire.note_fault("b.example", FailureCode.NETWORK, "refused")
    assert wire.explain_failure() == (FailureCode.NETWORK, "refused")
    wire.note_tunnel("b.example")
    assert wire.explain_failure() is None
    assert wire.document()["b.example"] == {
        "requests": 0,
        "bytes_in": 0,
        "bytes_out": 0,
        "tunnels": 1,
        "faults": {"network:refused": 1},
    }


def test_the_number_of_hosts_is_bounded() -> None:
    wire = WireTally()
    for number in range(500):
        wire.of(f"h{number}.example").requests += 1
    assert len(wire.hosts) == 201
    assert wire.requests == 500
