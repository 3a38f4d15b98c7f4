"""Encryption of sessions at rest: AES-256-GCM with a data key per session, wrapped by a key outside the database.

A seal is bound to job, session and version: a row that was swapped, altered or restored does not open.
"""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from corral.domain.errors import BadConfiguration
from corral.domain.secret import Secret
from corral.domain.sites.session import SealedSession, SessionState

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_BYTES = 32
_NONCE_BYTES = 12
_PRIVATE = 0o600
_OTHERS = 0o077
HOW_TO_MAKE = 'python3 -c "import base64, os; print(base64.b64encode(os.urandom(32)).decode())"'


class SealBroken(Exception):
    """The row does not open: it was altered, swapped or restored, or its key is missing."""


class KeyMissing(SealBroken):
    def __init__(self, kid: str) -> None:
        super().__init__(f"it is sealed with the key {kid}, which is not in the vault")


class Keyring:
    """The keys of the vault, newest first. The first one seals, any of them opens."""

    def __init__(self, keys: Sequence[Secret[bytes]] = ()) -> None:
        self._keys = {kid_of(key): key for key in keys}

    @classmethod
    def parse(cls, texts: Iterable[str]) -> "Keyring":
        """Parse base64 keys; ValueError never quotes a key."""
        return cls([_parse_key(text) for text in texts])

    def texts(self) -> list[str]:
        return [base64.b64encode(key.reveal()).decode() for key in self._keys.values()]

    @property
    def kids(self) -> list[str]:
        return list(self._keys)

    def key(self, kid: str) -> Secret[bytes]:
        try:
            return self._keys[kid]
        except KeyError:
            raise KeyMissing(kid) from None

    def with_new(self) -> "Keyring":
        return Keyring([_new_key(), *self._keys.values()])

    def without(self, kids: Iterable[str]) -> "Keyring":
        removed = set(kids)
        return Keyring([key for kid, key in self._keys.items() if kid not in removed])

    # -- sealing -------------------------------------------------------------------------------------

    def seal(self, state: SessionState, *, job_id: str, session_id: str, version: int) -> SealedSession:
        bound = _session_context(job_id, session_id, version)
        data_key = _new_key()
        kid = self.kids[0]
        return SealedSession(
            id=session_id,
            job_id=job_id,
            version=version,
            kid=kid,
            wrapped_key=_encrypt(self.key(kid), data_key.reveal(), _key_context(bound, kid)),
            box=_encrypt(data_key, state.serialize(), bound),
        )

    def open(self, sealed: SealedSession) -> SessionState:
        bound = _session_context(sealed.job_id, sealed.id, sealed.version)
        return SessionState.deserialize(_decrypt(self._data_key(sealed, bound), sealed.box, bound))

    def rewrap(self, sealed: SealedSession) -> SealedSession:
        """Wrap the data key with the newest key, without decrypting the content."""
        bound = _session_context(sealed.job_id, sealed.id, sealed.version)
        data_key = self._data_key(sealed, bound)
        kid = self.kids[0]
        wrapped = _encrypt(self.key(kid), data_key.reveal(), _key_context(bound, kid))
        return SealedSession(sealed.id, sealed.job_id, sealed.version, kid, wrapped, sealed.box)

    # -- single texts: the credentials of a proxy ------------------------------------------------------

    def seal_text(self, text: Secret[str], bound: str) -> str:
        """Return `kid.wrapped_key.box`. It opens only with the same `bound` text."""
        data_key, kid, context = _new_key(), self.kids[0], _text_context(bound)
        wrapped = _encrypt(self.key(kid), data_key.reveal(), _key_context(context, kid))
        return f"{kid}.{wrapped}.{_encrypt(data_key, text.reveal().encode(), context)}"

    def open_text(self, sealed: str, bound: str) -> Secret[str]:
        kid, _, rest = sealed.partition(".")
        wrapped, _, box = rest.partition(".")
        context = _text_context(bound)
        data_key: Secret[bytes] = Secret(_decrypt(self.key(kid), wrapped, _key_context(context, kid)))
        return Secret(_decrypt(data_key, box, context).decode())

    def _data_key(self, sealed: SealedSession, bound: bytes) -> Secret[bytes]:
        wrapping = _key_context(bound, sealed.kid)
        return Secret(_decrypt(self.key(sealed.kid), sealed.wrapped_key, wrapping))


class Vault:
    """The keys of this installation, in the environment or in a private file in the data folder."""

    def __init__(self, path: Path, from_environment: Secret[str] | None = None) -> None:
        self._path = path
        self._from_environment = from_environment

    @property
    def is_file(self) -> bool:
        return self._from_environment is None

    @property
    def location(self) -> str:
        return str(self._path) if self.is_file else "APP_VAULT_KEY"

    def keys(self) -> Keyring:
        """Return the keys, possibly none. BadConfiguration if they cannot be read."""
        if self._from_environment is not None:
            return _parse_keys(self._from_environment.reveal().split(","), "APP_VAULT_KEY")
        try:
            with self._path.open("rb") as file:
                self._check_private(os.fstat(file.fileno()).st_mode)
                text = file.read().decode("ascii", "replace")
        except FileNotFoundError:
            return Keyring()
        except OSError as error:
            raise BadConfiguration(
                [f"{self._path} cannot be read ({error.strerror}); let the user that runs Corral own it"]
            ) from None
        return _parse_keys(text.split(), str(self._path))

    def keys_to_seal(self) -> Keyring:
        """Return the keys, after creating the first one if there is none."""
        found = self.keys()
        if found.kids:
            return found
        if not self.is_file:
            raise BadConfiguration([f"{self.location} holds no key; make one with `{HOW_TO_MAKE}`"])
        created = found.with_new()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._write_part(created)
        try:
            # `link` does not overwrite: of two processes that start together, one uses the key of the other.
            os.link(part, self._path)
        except FileExistsError:
            found = self.keys()
            if not found.kids:  # do not fill an empty file: its lost key may be the one that opens the stored sessions
                raise BadConfiguration([f"{self._path} is empty; put the key back, or remove the file"]) from None
            return found
        finally:
            part.unlink()
        return created

    def keep(self, keys: Keyring) -> None:
        """Replace the key file atomically."""
        part = self._write_part(keys)
        part.replace(self._path)

    def _write_part(self, keys: Keyring) -> Path:
        part = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        with os.fdopen(descriptor, "w") as file:
            file.write("".join(f"{text}\n" for text in keys.texts()))
            file.flush()
            os.fsync(file.fileno())
        return part

    def _check_private(self, mode: int) -> None:
        if mode & _OTHERS:
            raise BadConfiguration(
                [
                    f"{self._path} holds the key of the vault, but other users can read it (mode {mode & 0o777:04o}); "
                    f"run `chmod 600 {self._path}`, and `corral session rotate` if others can log in here"
                ]
            )


def check_keys(keys: Keyring, used: dict[str, int], where: str) -> None:
    """Refuse to start if stored sessions cannot be opened: each of their runs would fail."""
    missing = {kid: count for kid, count in used.items() if kid not in keys.kids}
    if not missing:
        return
    count = sum(missing.values())
    what = "has no key" if not keys.kids else f"does not have the key {', '.join(sorted(missing))}"
    raise BadConfiguration(
        [
            f"{count} stored session{'s are' if count != 1 else ' is'} encrypted and the vault ({where}) {what}; "
            "put the right key back (APP_VAULT_KEY, or the file), or remove them with `corral session rm`"
        ]
    )


class KeySource:
    """Reads the vault again only when a run needs a key that the node does not know."""

    def __init__(self, read: Callable[[], Keyring], first: Keyring) -> None:
        self._read = read
        self._known = set(first.kids)

    def __call__(self, kids: Iterable[str]) -> list[str] | None:
        """Return all keys if the workers need a new one, otherwise None."""
        if self._known.issuperset(kids):
            return None
        try:
            found = self._read()
        except BadConfiguration:
            return None
        fresh = not self._known.issuperset(found.kids)
        self._known = set(found.kids)
        return found.texts() if fresh else None


def kid_of(key: Secret[bytes]) -> str:
    """Return an id for a key that reveals nothing about it."""
    return hashlib.sha256(b"corral vault key" + key.reveal()).hexdigest()[:16]


def _new_key() -> Secret[bytes]:
    return Secret(os.urandom(_KEY_BYTES))


def _parse_key(text: str) -> Secret[bytes]:
    try:
        raw = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _KEY_BYTES:
        raise ValueError(f"a key is {_KEY_BYTES} bytes in base64; make one with `{HOW_TO_MAKE}`")
    return Secret(raw)


def _parse_keys(texts: Sequence[str], where: str) -> Keyring:
    try:
        return Keyring.parse([text for text in texts if text.strip()])
    except ValueError as error:
        what, _, fix = str(error).partition("; ")
        raise BadConfiguration([f"{where}: {what}; {fix}"]) from None


def _session_context(job_id: str, session_id: str, version: int) -> bytes:
    return f"corral|{job_id}|{session_id}|{version}".encode()


def _text_context(bound: str) -> bytes:
    return f"corral text|{bound}".encode()


def _key_context(bound: bytes, kid: str) -> bytes:
    return b"key|" + bound + b"|" + kid.encode()


def _cipher(key: Secret[bytes]) -> "AESGCM":
    # Imported with the first session: most workers never open one.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    return AESGCM(key.reveal())


def _encrypt(key: Secret[bytes], data: bytes, bound: bytes) -> str:
    nonce = os.urandom(_NONCE_BYTES)
    return base64.b64encode(nonce + _cipher(key).encrypt(nonce, data, bound)).decode()


def _decrypt(key: Secret[bytes], text: str, bound: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415

    try:
        raw = base64.b64decode(text, validate=True)
        # Decoding ignores some bits of the last character, so two texts could decode to the same bytes.
        if base64.b64encode(raw).decode() != text:
            raise ValueError(text)
        return _cipher(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], bound)
    except (InvalidTag, binascii.Error, ValueError):
        raise SealBroken("the stored session cannot be decrypted") from None
