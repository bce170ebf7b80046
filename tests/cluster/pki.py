"""The cluster's certificate authority and the certificates of its parts, made with the openssl program."""

from dataclasses import dataclass
from pathlib import Path

from tests.cluster.cache import exclusive
from tests.cluster.process import output_of

_VALID_DAYS = "365"


@dataclass(frozen=True)
class Certificate:
    """Files of one certificate in PEM.

    Attributes:
        certificate: The certificate.
        key: Its private key, readable by its owner only.
    """

    certificate: Path
    key: Path


class Authority:
    """A certificate authority in one folder; what it has issued once stays the same."""

    def __init__(self, folder: Path) -> None:
        """Use ``folder``; the authority itself is made when it first issues something."""
        self._folder = folder

    @property
    def certificate(self) -> Path:
        """The authority's own certificate: what clients and servers trust."""
        return self._own().certificate

    def issue(self, user: str, *, groups: tuple[str, ...] = (), addresses: tuple[str, ...] = ()) -> Certificate:
        """Return the certificate of a client or server, issuing it where there is none yet.

        Args:
            user: The common name: to Kubernetes the user's name.
            groups: The organisations: to Kubernetes the user's groups.
            addresses: IP addresses and host names that a server answers under.
        """
        authority = self._own()
        with exclusive(self._folder / ".lock"):
            issued = self._files(user.replace(":", "-").replace("/", "-"))
            if not issued.certificate.exists():
                subject = "".join(f"/O={group}" for group in groups) + f"/CN={_escaped(user)}"
                names = ",".join(_alternative_name(address) for address in addresses)
                extensions = ["-addext", f"subjectAltName={names}"] if names else []
                extensions += ["-addext", "extendedKeyUsage=serverAuth,clientAuth"]
                extensions += ["-addext", "basicConstraints=critical,CA:FALSE"]
                signer = ["-CA", str(authority.certificate), "-CAkey", str(authority.key)]
                _make(issued, subject, [*extensions, *signer])
        return issued

    def signing_key(self, name: str) -> Path:
        """Return a private key that is not a certificate's: what service account tokens are signed with."""
        with exclusive(self._folder / ".lock"):
            key = self._folder / f"{name}.key"
            if not key.exists():
                unfinished = key.with_suffix(".unfinished")
                output_of(["openssl", "genrsa", "-out", str(unfinished), "2048"])
                unfinished.replace(key)
        return key

    def _own(self) -> Certificate:
        with exclusive(self._folder / ".lock"):
            own = self._files("ca")
            if not own.certificate.exists():
                self._folder.chmod(0o700)
                _make(own, "/CN=mfu-operator-demo-ca", ["-addext", "keyUsage=critical,keyCertSign,cRLSign"])
        return own

    def _files(self, name: str) -> Certificate:
        return Certificate(self._folder / f"{name}.crt", self._folder / f"{name}.key")


def _make(files: Certificate, subject: str, options: list[str]) -> None:
    """Write the key, then the certificate in one step: the certificate's presence says that both are whole."""
    unfinished = files.certificate.with_suffix(".unfinished")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", str(files.key)]
    output_of(
        ["openssl", "req", "-x509", *key, "-days", _VALID_DAYS, "-subj", subject, *options, "-out", str(unfinished)]
    )
    unfinished.replace(files.certificate)


def _escaped(name: str) -> str:
    return name.replace("/", r"\/")


def _alternative_name(address: str) -> str:
    kind = "IP" if address.replace(".", "").isdigit() else "DNS"
    return f"{kind}:{address}"
