"""TLS with authorities and client certificates that come as text."""

import os
import re
import ssl

from mfu_operator.errors import Stall
from mfu_operator.ports import Credentials

_CERTIFICATES = re.compile(r"-----BEGIN (?P<kind>CERTIFICATE)-----[!-~\s]+?-----END (?P=kind)-----", re.ASCII)
_KEYS = re.compile(r"-----BEGIN (?P<kind>(?:[A-Z]+ )?PRIVATE KEY)-----[!-~\s]+?-----END (?P=kind)-----", re.ASCII)
"""RFC 7468. What stands around the blocks (a byte order mark, comments in any language) is no part of them."""


def context_of(credentials: Credentials | None) -> ssl.SSLContext:
    """The system's authorities, or the credentials' own alone; with the client certificate where they hold one.

    Raises:
        Stall: CertificateUnreadable, naming which text is not a PEM of what it should be.
    """
    context = _trusting(credentials.ca if credentials else None)
    if credentials is None or (credentials.certificate is None and credentials.private_key is None):
        return context
    if not credentials.certificate or not credentials.private_key:
        raise Stall("CertificateUnreadable", "a client certificate needs both keys, tls.crt and tls.key")
    try:
        _present(context, _blocks(_KEYS, credentials.private_key) + _blocks(_CERTIFICATES, credentials.certificate))
    except (ssl.SSLError, ValueError) as error:
        raise Stall("CertificateUnreadable", f"tls.crt and tls.key are not a pair in PEM: {_said(error)}") from None
    return context


def _trusting(authorities: str | None) -> ssl.SSLContext:
    if authorities is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=authorities_in(authorities))
    except ssl.SSLError as error:
        raise Stall("CertificateUnreadable", f"ca.crt holds no certificate in PEM: {_said(error)}") from None


def authorities_in(text: str) -> str:
    """The certificates of a text in PEM, without what stands around them. Raises Stall: CertificateUnreadable."""
    blocks = _blocks(_CERTIFICATES, text)
    if not blocks:
        raise Stall("CertificateUnreadable", "ca.crt holds no certificate in PEM")
    return blocks


def _blocks(kind: re.Pattern[str], text: str) -> str:
    return "".join(f"{block[0]}\n" for block in kind.finditer(text))


def _present(context: ssl.SSLContext, pair: str) -> None:
    """Load key and certificate: OpenSSL takes them from a file alone, so from one that is on no disk (Linux)."""
    with os.fdopen(os.memfd_create("mfu-tls"), "wb") as file:
        file.write(pair.encode("ascii"))
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password=_no_password)


def _no_password() -> str:
    raise ValueError("the key is encrypted, and there is nobody to ask for its password")


def explained(error: BaseException) -> str | None:
    """What is wrong with TLS and what to do, where that is what made a connection fail; None where it is not."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return None
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is refused ({cause.verify_message}): {_remedy(cause)}"
    reason = (getattr(cause, "reason", None) or str(cause)).lower().replace("_", " ")
    if "certificate required" in reason or "handshake failure" in reason:
        return f"it wants a client certificate ({reason}): prometheus.certificateSecretRef names one"
    if "unknown ca" in reason or "bad certificate" in reason or "certificate unknown" in reason:
        return f"it refuses the client certificate ({reason}): tls.crt must be of an authority that it trusts"
    if "wrong version number" in reason or "record layer failure" in reason:
        return f"it speaks no TLS at that port ({reason}): write the address with http://, or another port"
    return f"TLS failed ({reason or type(cause).__name__})"


def _remedy(error: ssl.SSLCertVerificationError) -> str:
    message = error.verify_message.lower()
    if "mismatch" in message or "not valid for" in message:
        return "write the address by a name that stands in the certificate"
    if "expired" in message or "not yet valid" in message:
        return "renew it, and look at both clocks"
    return "prometheus.caSecretRef names the Secret with its authority (key ca.crt)"


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason or error or type(error).__name__).lower().replace("_", " ")
