import base64
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadConfiguration
from corral.domain.secret import Secret
from corral.domain.sites.session import Cookie, SealedSession, SessionState
from corral.secrets.vault import KeyMissing, Keyring, KeySource, SealBroken, Vault, check_keys

RING = Keyring().with_new()
TEXTS = st.text(max_size=50)
STATES = st.builds(
    SessionState,
    cookies=st.lists(
        st.builds(Cookie, name=TEXTS, value=TEXTS.map(Secret), domain=TEXTS, expires=st.none() | st.integers(0, 2**40)),
        max_size=5,
    ).map(tuple),
    storage=st.dictionaries(TEXTS, st.dictionaries(TEXTS, TEXTS.map(Secret), max_size=3), max_size=3),
    headers=st.dictionaries(TEXTS, TEXTS.map(Secret), max_size=3),
    origin=TEXTS,
)
STATE = SessionState((Cookie("sid", Secret("the-canary-value"), "example.test"),), origin="http://example.test")


def seal(state: SessionState = STATE, ring: Keyring = RING) -> SealedSession:
    return ring.seal(state, job_id="job", session_id="session", version=3)


@given(STATES)
def test_what_is_sealed_opens_as_it_was(state: SessionState) -> None:
    assert RING.open(seal(state)) == state


def change(whole: SealedSession, part: str, value: str) -> SealedSession:
    different: Any = {part: value}
    return replace(whole, **different)


@given(st.sampled_from(["wrapped_key", "box"]), st.data())
def test_any_flipped_bit_breaks_the_seal(part: str, data: st.DataObject) -> None:
    whole = seal()
    raw = bytearray(base64.b64decode(getattr(whole, part)))
    bit = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(SealBroken):
        RING.open(change(whole, part, base64.b64encode(raw).decode()))


@given(st.sampled_from(["wrapped_key", "box"]), st.data())
def test_any_other_character_breaks_the_seal(part: str, data: st.DataObject) -> None:
    whole = seal()
    text: str = getattr(whole, part)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(max_codepoint=127).filter(lambda char: char != text[place]))
    with pytest.raises(SealBroken):
        RING.open(change(whole, part, text[:place] + other + text[place + 1 :]))


@pytest.mark.parametrize(
    "change", [{"id": "other"}, {"job_id": "other"}, {"version": 2}, {"version": 4}, {"job_id": "job|session"}]
)
def test_a_seal_is_bound_to_job_session_and_version(change: dict[str, str | int]) -> None:
    with pytest.raises(SealBroken):
        RING.open(replace(seal(), **change))  # type: ignore[arg-type]


def test_parts_of_two_sessions_do_not_fit_together() -> None:
    one, other = seal(), seal()
    assert one.box != other.box
    assert one.wrapped_key != other.wrapped_key
    with pytest.raises(SealBroken):
        RING.open(replace(one, wrapped_key=other.wrapped_key))


def test_another_key_opens_nothing() -> None:
    with pytest.raises(KeyMissing):
        Keyring().with_new().open(seal())
    stranger = Keyring().with_new()
    with pytest.raises(SealBroken):
        stranger.open(replace(seal(), kid=stranger.kids[0]))


def test_a_rotated_session_needs_the_new_key_only() -> None:
    both = RING.with_new()
    anew = both.rewrap(seal())
    assert anew.kid == both.kids[0] != RING.kids[0]
    assert both.without(RING.kids).open(anew) == STATE
    assert both.open(seal()) == STATE


def test_nothing_of_it_is_shown() -> None:
    shown = f"{STATE} {STATE!r} {RING!r} {seal()} {STATE.about()}"
    assert "the-canary-value" not in shown
    assert not any(text in shown for text in RING.texts())


# -- where the keys are ------------------------------------------------------------------------------


def test_a_first_key_is_made_once_and_private(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "data" / "vault.key")
    assert vault.keys().kids == []
    made = vault.keys_to_seal()
    assert vault.keys().kids == vault.keys_to_seal().kids == made.kids
    assert (tmp_path / "data" / "vault.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["vault.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_key_others_may_read_is_refused_with_the_way_to_mend_it(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "vault.key"
    Vault(path).keys_to_seal()
    path.chmod(mode)
    with pytest.raises(BadConfiguration, match=f"chmod 600 {path}"):
        Vault(path).keys()


def test_a_key_that_is_none_is_refused_without_being_shown(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    path.write_text("not-a-key-but-secret")
    path.chmod(0o600)
    for vault in (Vault(path), Vault(path, Secret("not-a-key-but-secret"))):
        with pytest.raises(BadConfiguration) as refused:
            vault.keys()
        assert "not-a-key-but-secret" not in refused.value.message


def test_several_keys_in_the_environment_are_newest_first(tmp_path: Path) -> None:
    old, new = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    ring = Vault(tmp_path / "vault.key", Secret(f"{new},{old}")).keys()
    assert ring.texts() == [new, old]
    assert seal(ring=ring).kid == ring.kids[0]
    assert not (tmp_path / "vault.key").exists()


def test_sessions_without_their_key_keep_corral_from_starting() -> None:
    check_keys(RING, {RING.kids[0]: 3}, "here")
    check_keys(Keyring(), {}, "here")
    with pytest.raises(BadConfiguration, match="has no key"):
        check_keys(Keyring(), {"a": 1}, "here")
    with pytest.raises(BadConfiguration, match="does not have the key a"):
        check_keys(RING, {"a": 1, RING.kids[0]: 2}, "here")


def test_keys_are_read_again_only_for_one_that_is_new() -> None:
    reads = []

    def read() -> Keyring:
        reads.append(1)
        return ring

    ring = RING
    source = KeySource(read, RING)
    assert source(RING.kids) is None
    assert not reads
    ring = RING.with_new()
    assert source([ring.kids[0]]) == ring.texts()
    assert source(ring.kids) is None
    assert source(["unknown"]) is None
    assert len(reads) == 2


@pytest.mark.parametrize("given", [None, Secret(""), Secret(" , ")])
def test_where_a_key_should_be_and_is_none_nothing_is_sealed(tmp_path: Path, given: Secret[str] | None) -> None:
    path = tmp_path / "vault.key"
    path.touch(0o600)
    with pytest.raises(BadConfiguration, match="make one with" if given else "is empty; put the key back"):
        Vault(path, given).keys_to_seal()
    assert path.read_bytes() == b""
    assert [each.name for each in tmp_path.iterdir()] == ["vault.key"]
