"""Makes a Chromium on Linux trust an authority: python nss_trust.py HOME CERTIFICATE.der, in a process of its own.

Chromium reads the certificates of its user from `~/.pki/nssdb`. They are written by the very library that it reads them
with, so that no further tool has to be installed.
"""

import ctypes
import sys
from pathlib import Path

_VALID_CA, _TRUSTED_CA = 1 << 3, 1 << 4


def write(home: Path, der: bytes) -> None:
    database = home / ".pki" / "nssdb"
    database.mkdir(parents=True)
    nss, smime = ctypes.CDLL("libnss3.so"), ctypes.CDLL("libsmime3.so")
    for function in (nss.PK11_GetInternalKeySlot, nss.CERT_GetDefaultCertDB, smime.CERT_DecodeCertFromPackage):
        function.restype = ctypes.c_void_p
    _done(nss.NSS_InitReadWrite(f"sql:{database}".encode()), "open")
    slot = ctypes.c_void_p(nss.PK11_GetInternalKeySlot())
    _done(nss.PK11_InitPin(slot, None, b""), "begin")
    certificate = ctypes.c_void_p(smime.CERT_DecodeCertFromPackage(der, len(der)))
    _done(nss.PK11_ImportCert(slot, certificate, 0, b"authority", 0), "import")
    flags = (ctypes.c_uint * 3)(_VALID_CA | _TRUSTED_CA, 0, 0)
    _done(nss.CERT_ChangeCertTrust(ctypes.c_void_p(nss.CERT_GetDefaultCertDB()), certificate, flags), "trust")
    nss.CERT_DestroyCertificate(certificate)
    nss.PK11_FreeSlot(slot)
    _done(nss.NSS_Shutdown(), "close")


def _done(status: int, what: str) -> None:
    if status != 0:
        raise SystemExit(f"NSS could not {what}: {status}")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]).read_bytes())
