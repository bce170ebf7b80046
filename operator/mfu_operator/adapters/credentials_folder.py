"""The operator's own credentials for its Prometheus: a mounted Secret, which the kubelet renews."""

import threading
from collections.abc import Callable
from pathlib import Path

from mfu_operator.ports import Credentials

READ_AGAIN_S = 60.0
"""The kubelet itself renews a mounted Secret about once a minute."""


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
        """The credentials, at most a minute old."""
        with self._lock:
            now_s = self._clock()
            if self._read is None or not 0 <= now_s - self._read[0] < READ_AGAIN_S:
                self._read = (now_s, self._credentials())
            return self._read[1]

    def _credentials(self) -> Credentials:
        return Credentials(
            username=self._text("username"),
            password=self._text("token") or self._text("password"),
            ca=self._text("ca.crt"),
            certificate=self._text("tls.crt"),
            private_key=self._text("tls.key"),
        )

    def _text(self, name: str) -> str | None:
        try:
            return (self._folder / name).read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None
