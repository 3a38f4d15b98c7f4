"""Certificates made for a test: an authority, and what it has signed."""

import base64
import hashlib
import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Issued:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    chain: tuple[x509.Certificate, ...] = ()  # what is sent beside it

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def key_hash(self) -> str:
        """As Chromium wants it: SHA-256 of the public key, in base64."""
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        return base64.b64encode(hashlib.sha256(self.key.public_key().public_bytes(encoding, form)).digest()).decode()

    def context(self, folder: Path, name: str) -> ssl.SSLContext:
        """For a server that shows it."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(*self.write_files(folder, name))
        return made

    def write_files(self, folder: Path, name: str) -> tuple[Path, Path]:
        """The files a server wants: the chain, and the key."""
        encoding = serialization.Encoding.PEM
        chain, key = folder / f"{name}.pem", folder / f"{name}.key"
        chain.write_bytes(b"".join(each.public_bytes(encoding) for each in (self.certificate, *self.chain)))
        key.write_bytes(
            self.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
        return chain, key


def authority(by: Issued | None = None, name: str = "Test authority") -> Issued:
    return _issue(name, by, is_authority=True)


def certificate(by: Issued | None, host: str = "127.0.0.1", *, expired: bool = False) -> Issued:
    """For a host; signed by itself where nobody else does."""
    return _issue(host, by, host=host, expired=expired)


def long_chain(by: Issued, length: int) -> Issued:
    """A certificate with so many authorities between it and the first."""
    between = [by]
    for number in range(length):
        between.append(authority(between[-1], f"Between {number}"))
    leaf = certificate(between[-1])
    return Issued(leaf.certificate, leaf.key, tuple(each.certificate for each in reversed(between[1:])))


def _issue(
    name: str, by: Issued | None, *, host: str | None = None, is_authority: bool = False, expired: bool = False
) -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ends_at = datetime.now(UTC) + timedelta(days=-1 if expired else 7)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends_at - timedelta(days=20))
        .not_valid_after(ends_at)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if host is not None:
        is_name = any(letter.isalpha() for letter in host)
        alternative = x509.DNSName(host) if is_name else x509.IPAddress(ipaddress.ip_address(host))
        builder = builder.add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
    return Issued(builder.sign(by.key if by else key, hashes.SHA256()), key)
