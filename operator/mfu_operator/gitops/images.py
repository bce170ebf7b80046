"""Image references: name, tag, digest."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Image:
    """An image reference in its parts; `name` is as written, without tag and digest."""

    name: str
    tag: str | None = None
    digest: str | None = None

    @property
    def full_name(self) -> str:
        """The name with the registry and folder that short names leave out."""
        first = self.name.partition("/")[0]
        if "/" not in self.name:
            return f"docker.io/library/{self.name}"
        return self.name if "." in first or ":" in first or first == "localhost" else f"docker.io/{self.name}"


def parse(reference: str) -> Image:
    """The parts of `registry:port/name:tag@sha256:…`; runtimes' prefixes (docker-pullable://) are dropped."""
    text = reference.rpartition("://")[2]
    rest, _, digest = text.partition("@")
    folder, slash, last = rest.rpartition("/")
    name, _, tag = last.partition(":")
    return Image(f"{folder}{slash}{name}", tag or None, digest if _DIGEST.fullmatch(digest) else None)


def rebuilt(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether an image of one name ran as one digest before (`name@sha256:…`) and as another one after."""
    then, now = (
        {(each.full_name, each.digest) for each in map(parse, side) if each.digest} for side in (before, after)
    )
    return any(name in {other for other, _ in then} and (name, digest) not in then for name, digest in now)
