"""Certificates for tests, made with openssl: an authority, a server on loopback, a client.

They hold what RFC 5280 asks for, because Python 3.13 trusts no others."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """Files in PEM."""

    certificate: Path
    key: Path


def server_context(pair: Pair) -> ssl.SSLContext:
    """For a server that shows the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
        _openssl(
            "req", "-x509", *_new_key(self._pair.key), "-days", "2", "-subj", f"/CN={name}",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-out", str(self._pair.certificate),
        )  # fmt: skip

    @property
    def certificate(self) -> Path:
        """The authority's own certificate."""
        return self._pair.certificate

    def issue(self, name: str, address: str = "IP:127.0.0.1", days: int = 1) -> Pair:
        """A certificate for a server at `address` ("IP:…", "DNS:…"), which serves a client as well."""
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        request, extensions = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={address}\nauthorityKeyIdentifier=keyid\n")
        _openssl("req", *_new_key(pair.key), "-subj", f"/CN={name}", "-out", str(request))
        _openssl(
            "x509", "-req", "-in", str(request), "-CA", str(self._pair.certificate), "-CAkey", str(self._pair.key),
            "-CAcreateserial", "-days", str(days), "-extfile", str(extensions), "-out", str(pair.certificate),
        )  # fmt: skip
        return pair


def _new_key(path: Path) -> tuple[str, ...]:
    return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(path)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
