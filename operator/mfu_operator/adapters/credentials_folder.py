"""The operator's own credentials for its Prometheus: a mounted Secret, which the kubelet renews."""

import threading
from collections.abc import Callable
from pathlib import Path

from mfu_operator.errors import Stall
from mfu_operator.ports import Credentials

READ_AGAIN_S = 60.0
"""The kubelet itself renews a mounted Secret about once a minute."""

_VERSION = "..data"
"""The kubelet's link to the version in force; it renames another one over it, then removes the old version."""


class CredentialsFolder:
    """Reads token (or username and password), ca.crt, tls.crt and tls.key; what is not there is absent.

    Args:
        folder: where the Secret is mounted.
        clock: the time now, Unix seconds.
    """

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._read: tuple[float, Credentials] | None = None

    def __call__(self) -> Credentials:
        """The credentials, at most a minute old, all of one version. Raises Stall: CredentialsUnfit."""
        with self._lock:
            now_s = self._clock()
            if self._read is None or not 0 <= now_s - self._read[0] < READ_AGAIN_S:
                self._read = (now_s, self._credentials())
            return self._read[1]

    def _credentials(self) -> Credentials:
        """Read once more where another version was put in force meanwhile."""
        version = self._version()
        while True:
            found = _credentials_in(version)
            before, version = version, self._version()
            if version == before:
                return found

    def _version(self) -> Path:
        link = self._folder / _VERSION
        return link.resolve() if link.is_symlink() else self._folder


def _credentials_in(folder: Path) -> Credentials:
    return Credentials(
        username=_text(folder / "username"),
        password=_text(folder / "token") or _text(folder / "password"),
        ca=_text(folder / "ca.crt"),
        certificate=_text(folder / "tls.crt"),
        private_key=_text(folder / "tls.key"),
    )


def _text(file: Path) -> str | None:
    told = f"{file.name} of the operator's own Prometheus credentials (the chart's prometheus.secretName)"
    try:
        return file.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Stall("CredentialsUnfit", f"{told} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Stall("CredentialsUnfit", f"{told} is not text in UTF-8; write it again") from None
